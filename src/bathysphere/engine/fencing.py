"""SQL fence: a statement takes effect only while its attempt holds the run."""

from uuid import UUID

from bathysphere.engine.errors import Superseded

HOLDS_RUN = "SELECT 1 FROM engine.runs WHERE run_id = %(run)s AND token = %(token)s"
"""Returns one row while the attempt holds the run, none after a takeover."""

FENCE = f"""
WITH fence AS MATERIALIZED (
    {HOLDS_RUN} FOR SHARE
)"""
"""Prefix of a statement that writes `FROM fence`. A takeover waits until the statement ends."""


def superseded(run_id: UUID) -> Superseded:
    """Return the error for an attempt that no longer holds its run."""
    return Superseded(f"Run {run_id} was taken over by another attempt")
