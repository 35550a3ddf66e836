"""Filter a subscription's events by channel, and by namespace prefix and depth."""

from collections.abc import Sequence
from dataclasses import dataclass

from bathysphere.server.protocol.wire import WireEvent


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """The channels and namespaces of a subscription."""

    channels: frozenset[str]
    namespaces: tuple[tuple[str, ...], ...] | None = None
    depth: int | None = None

    def engine_channels(self) -> frozenset[str]:
        """The engine channels that the subscription needs."""
        return frozenset(channel.split(":", 1)[0] for channel in self.channels)

    def matches(self, event: WireEvent) -> bool:
        """Whether the event belongs to the subscription."""
        return self._matches_channel(event) and self._matches_namespace(event.namespace)

    def _matches_channel(self, event: WireEvent) -> bool:
        if event.channel in self.channels:
            return True
        return event.channel == "custom" and f"custom:{event.data.get('name')}" in self.channels

    def _matches_namespace(self, namespace: Sequence[str]) -> bool:
        if not self.namespaces:
            return True
        return any(
            _is_prefix(prefix, namespace)
            and (self.depth is None or len(namespace) - len(prefix) <= self.depth)
            for prefix in self.namespaces
        )


def _is_prefix(prefix: Sequence[str], namespace: Sequence[str]) -> bool:
    """Compare segment by segment; `tools` matches any `tools:<id>`."""
    if len(prefix) > len(namespace):
        return False
    return all(
        wanted == found or (":" not in wanted and found.split(":", 1)[0] == wanted)
        for wanted, found in zip(prefix, namespace, strict=False)
    )
