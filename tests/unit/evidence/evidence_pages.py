"""Snapshots for tests."""

from datetime import UTC, datetime

from bathysphere.evidence.snapshots import Snapshot, take_snapshot

NOON = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def page(text: str, url: str = "https://example.org/a", **more) -> Snapshot:
    return take_snapshot(url, text.encode(), text, fetched_at=NOON, **more)
