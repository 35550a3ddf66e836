"""The chain of the audit log: the canonical form of a row, its hash, and heads to publish.

A hash covers the hash before it and everything in its row, so that no row can be changed, removed,
inserted or moved without breaking all hashes after it. Whoever can write the database could compute
all of them again: only a head that was published before shows that.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple, Self

from bathysphere.core.errors import CallerError
from bathysphere.core.identity import Owner

Details = Mapping[str, str | int | bool | None]
"""No floats: JSON of PostgreSQL and of Python would write them differently."""
_FORMAT = b"bathysphere audit 1\n"
_HEAD = re.compile(r"(\d{1,18}):([0-9a-f]{64})", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditRow:
    """A row of the log, as it is stored."""

    seq: int
    at: datetime
    tenant: str
    actor: str | None
    """A person's id; None for the operator, by a command."""
    person: str | None
    """The id of the user whose it is."""
    action: str
    subject: str
    details: Details

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Build it from a row of `engine.audit`."""
        return cls(**{name: row[name] for name in cls.__slots__})

    def hash_after(self, previous: str) -> str:
        """The hash of this row after the one with the hash `previous`."""
        values = {**asdict(self), "at": self.at.astimezone(UTC).isoformat(timespec="microseconds")}
        text = json.dumps(
            {**values, "details": dict(self.details), "previous": previous},
            sort_keys=True,
            separators=(",", ":"),
        )
        return hashlib.sha256(_FORMAT + text.encode()).hexdigest()


class Head(NamedTuple):
    """The last row of a chain and its hash: one line that says what all rows before it were."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a published head.

        Raises:
            CallerError: It is not a head.
        """
        match = _HEAD.fullmatch(text.strip())
        if match is None:
            raise CallerError(
                f"Not a head of the audit log: {text[:100]}", hint="see `bathysphere audit head`"
            )
        return cls(int(match.group(1)), match.group(2))


EMPTY = Head(0, "0" * 64)
"""The head of a chain without rows."""


def person_id(owner: Owner, salt: bytes) -> str:
    """The id that stands for a person in the chain; it says nothing without the salt."""
    name = json.dumps([owner.tenant, owner.user]).encode()
    return hmac.new(salt, name, hashlib.sha256).hexdigest()
