"""Match the answers of a `command.resume` with the thread's open questions."""

from collections.abc import Iterable
from typing import Any

from bathysphere.engine.errors import AnswerRefused


def answers_by_question(resume: Any, open_ids: Iterable[str]) -> dict[str, Any]:
    """Return the answers by question id; the id may be left out when one question is open.

    Raises:
        AnswerRefused: No question is open, or it is not clear which one is answered.
    """
    ids = set(open_ids)
    if isinstance(resume, dict) and resume and resume.keys() <= ids:
        return dict(resume)
    if len(ids) == 1:
        return {ids.pop(): resume}
    if not ids:
        raise AnswerRefused("No question is open", hint="start a run with input instead")
    raise AnswerRefused(f"{len(ids)} questions are open", hint="answer as {question id: answer}")
