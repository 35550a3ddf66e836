"""Embedded PostgreSQL: how it ends. `tests/e2e` starts the real one."""

from pathlib import Path

import pytest

from bathysphere.core.errors import ConfigError
from bathysphere.engine.database import embedded


class Unstoppable:
    def get_uri(self, database: str) -> str:
        return f"postgresql:///{database}"

    def cleanup(self) -> None:
        raise FileNotFoundError(2, "No such file", "postmaster.pid")


async def test_a_server_that_cannot_be_stopped_does_not_hide_why_the_process_ended(
    monkeypatch, caplog
):
    monkeypatch.setattr(embedded, "_start", lambda data: Unstoppable())
    with pytest.raises(ConfigError, match="extra is missing"):
        async with embedded.embedded_postgres(Path("unused")):
            raise ConfigError("An extra is missing")
    assert "could not be stopped" in caplog.text
