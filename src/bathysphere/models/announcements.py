"""Whether an answer only announces work, as small models do that stop before the call."""

MAX_LENGTH = 200
_STARTS = ("i will", "i'll", "i’ll", "let me", "let's", "i am going to", "i'm going to")
_FILLERS = frozenset(("now", "first", "then", "next", "start", "by"))
_WORK = frozenset(
    (
        *("look", "check", "read", "write", "search", "list", "create", "find", "open", "begin"),
        *("do", "use", "call", "edit", "update", "run", "analyze", "see", "inspect", "reading"),
        *("looking", "checking", "listing", "searching", "writing"),
    )
)


def is_announcement(text: str) -> bool:
    """Whether a short answer says what comes next and nothing else."""
    text = text.strip().lower()
    if not text or len(text) > MAX_LENGTH or "?" in text:
        return False
    if text.endswith(":"):
        return True
    start = next((one for one in _STARTS if text.startswith(one)), None)
    words = text.removeprefix(start or "").replace(",", " ").split()
    wanted = next((word for word in words if word not in _FILLERS), "")
    return start is not None and wanted.strip(".!…") in _WORK
