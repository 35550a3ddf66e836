"""Where a sealed value is stored. It can be opened at this place only."""

from uuid import UUID

Place = tuple[str, ...]


def channel_place(thread_id: str, namespace: str, channel: str, version: object) -> Place:
    """One version of a channel's value, in a blob or inside the checkpoint."""
    return ("channel", thread_id, namespace, channel, str(version))


def write_place(
    thread_id: str, namespace: str, checkpoint_id: str, task_id: str, idx: int, channel: str
) -> Place:
    """A pending write, also while it is saved for a rollback."""
    return ("write", thread_id, namespace, checkpoint_id, task_id, str(idx), channel)


def run_place(thread_id: UUID | str, run_id: UUID | str) -> Place:
    """The contents of a run's request."""
    return ("run", str(thread_id), str(run_id))


def answer_place(thread_id: UUID | str, interrupt_id: str) -> Place:
    """An answer to a question, also while a run carries it."""
    return ("answer", str(thread_id), interrupt_id)


def effect_place(thread_id: UUID | str, namespace: str, task: str, call: str) -> Place:
    """The recorded result of a tool."""
    return ("effect", str(thread_id), namespace, task, call)
