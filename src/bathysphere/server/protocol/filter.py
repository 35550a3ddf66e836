"""What a subscription lets through: channels, and namespaces by prefix and depth."""

from collections.abc import Sequence
from dataclasses import dataclass

from bathysphere.server.protocol.wire import WireEvent


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """A connection's wishes."""

    channels: frozenset[str]
    namespaces: tuple[tuple[str, ...], ...] | None = None
    depth: int | None = None

    def engine_channels(self) -> frozenset[str]:
        """The engine's channels it needs."""
        return frozenset(channel.split(":", 1)[0] for channel in self.channels)

    def lets(self, event: WireEvent) -> bool:
        """Whether the event is for this connection."""
        return self._is_channel(event) and self._is_near(event.namespace)

    def _is_channel(self, event: WireEvent) -> bool:
        if event.channel in self.channels:
            return True
        return event.channel == "custom" and f"custom:{event.data.get('name')}" in self.channels

    def _is_near(self, namespace: Sequence[str]) -> bool:
        if not self.namespaces:
            return True
        return any(
            _is_prefix(prefix, namespace)
            and (self.depth is None or len(namespace) - len(prefix) <= self.depth)
            for prefix in self.namespaces
        )


def _is_prefix(prefix: Sequence[str], namespace: Sequence[str]) -> bool:
    """Segment by segment; `tools` stands for any `tools:<id>`."""
    if len(prefix) > len(namespace):
        return False
    return all(
        asked == found or (":" not in asked and found.split(":", 1)[0] == asked)
        for asked, found in zip(prefix, namespace, strict=False)
    )
