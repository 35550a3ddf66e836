"""The sources that the person trusts in this conversation: listed and taken back.

What is taken back is sent with the next message, as `flow_revoked` in the state, just as other
clients send it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bathysphere.cli.talk.screen import Screen
from bathysphere.flow import Ledger

HELP = {
    "/trusted": "the sources that you trust in this conversation",
    "/untrust N": "stop trusting source N",
}
COMMANDS = ("/trusted", "/untrust")


@dataclass(kw_only=True)
class TrustedSources:
    """Runs the commands about trusted sources."""

    screen: Screen
    values: Callable[[], Mapping[str, Any]]
    """Returns the current state of the thread."""
    _revoked: dict[str, bool] = field(default_factory=dict, init=False)

    def handle(self, name: str, rest: str) -> None:
        """Run a command."""
        trusts = self._trusts()
        if name == "/untrust":
            self._untrust(rest, trusts)
        elif trusts:
            self.screen.block([(f"{n}  {name}", "") for n, name in enumerate(trusts.values(), 1)])
            self.screen.note("    stop trusting one with /untrust N")
        else:
            self.screen.note("You trust no source in this conversation.")

    def state_update(self) -> dict[str, Any]:
        """State to send with the next message."""
        return {"flow_revoked": dict(self._revoked)} if self._revoked else {}

    def _untrust(self, rest: str, trusts: Mapping[str, str]) -> None:
        keys = list(trusts)
        if not rest.isdecimal() or not 1 <= int(rest) <= len(keys):
            self.screen.note(f"Unknown source: {rest or 'none given'}. /trusted shows the numbers.")
            return
        key = keys[int(rest) - 1]
        self._revoked[key] = True
        self.screen.note(f"No longer trusted: {trusts[key]}.")

    def _trusts(self) -> dict[str, str]:
        entries = self.values().get("flow") or {}
        taken = {**(self.values().get("flow_revoked") or {}), **self._revoked}
        known = Ledger(entries).trusts
        return {key: str(one["name"]) for key, one in known.items() if key not in taken}
