"""Seal the contents of a run's request inside its JSON form; what statements read stays plain."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from bathysphere.engine.encryption.cipher import TenantCipher, json_key_of
from bathysphere.engine.encryption.places import answer_place, run_place

_CONTENTS = ("input", "update", "goto", "context")
_SEALED = "sealed"
_RESUME = "resume"


def seal_work(
    work: Mapping[str, Any], cipher: TenantCipher, *, thread_id: UUID | str, run_id: UUID | str
) -> dict[str, Any]:
    """Seal the contents in one field, and each answer like the stored answers."""
    contents = _contents(work)
    sealed = cipher.seal_json(contents, run_place(thread_id, run_id)) if contents else None
    data = dict(work)
    if json_key_of(sealed) is not None:
        data = {name: value for name, value in work.items() if name not in contents}
        data[_SEALED] = sealed
    if work.get(_RESUME):
        data[_RESUME] = seal_answers(work[_RESUME], cipher, thread_id=thread_id)
    return data


def open_work(
    work: Mapping[str, Any], cipher: TenantCipher, *, thread_id: UUID | str, run_id: UUID | str
) -> dict[str, Any]:
    """Open what `seal_work` sealed; work in plain text is returned as it is."""
    sealed = work.get(_SEALED, _contents(work) or None)
    data = {name: value for name, value in work.items() if name != _SEALED}
    data |= cipher.open_json(sealed, run_place(thread_id, run_id)) or {}
    if work.get(_RESUME):
        data[_RESUME] = open_answers(work[_RESUME], cipher, thread_id=thread_id)
    return data


def _contents(work: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: work[name]
        for name in _CONTENTS
        if work.get(name) is not None and (name != "goto" or work[name])
    }


def keys_of_work(work: Mapping[str, Any]) -> set[str | None]:
    """The ids of the keys that its contents are sealed with; None for plain text."""
    sealed = [work[_SEALED]] if _SEALED in work else [None] if _contents(work) else []
    return {json_key_of(value) for value in (*sealed, *(work.get(_RESUME) or {}).values())}


def seal_answers(
    answers: Mapping[str, Any], cipher: TenantCipher, *, thread_id: UUID | str
) -> dict[str, Any]:
    """Seal answers by the ids of their questions."""
    return {
        name: cipher.seal_json(value, answer_place(thread_id, name))
        for name, value in answers.items()
    }


def open_answers(
    answers: Mapping[str, Any], cipher: TenantCipher, *, thread_id: UUID | str
) -> dict[str, Any]:
    """Open answers by the ids of their questions."""
    return {
        name: cipher.open_json(value, answer_place(thread_id, name))
        for name, value in answers.items()
    }
