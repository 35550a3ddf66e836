"""What the engine refuses, and how it says so."""

from bathysphere.core.errors import BathysphereError, CallerError


class ThreadNotFound(CallerError):
    """There is no such thread, or it is not this owner's."""

    code = "thread_not_found"


class RunNotFound(CallerError):
    """There is no such run, or it is not this owner's."""

    code = "run_not_found"


class RunIdTaken(CallerError):
    """The client's run id already names another run."""

    code = "run_id_taken"


class ThreadBusy(CallerError):
    """The thread has a run and the caller asked for `reject`."""

    code = "thread_busy"


class GraphNotFound(CallerError):
    """No graph of this name is served here."""

    code = "graph_not_found"


class AnswerRefused(CallerError):
    """An answer does not fit a question that is pending."""

    code = "answer_refused"


class QuestionNotFound(AnswerRefused):
    """The question is not open: there never was one, or the thread went on without an answer."""

    code = "question_not_found"


class Superseded(BathysphereError):
    """This attempt is no longer the one that may write: another worker took the run over."""

    code = "superseded"
    ends_run = True
