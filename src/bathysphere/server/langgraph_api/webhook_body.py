"""The body of a webhook: the run, and the thread's values when it ended, in LangGraph's format."""

from datetime import datetime
from typing import Any

from bathysphere.engine.delivery.outbox import Delivery
from bathysphere.engine.records import Run
from bathysphere.engine.runs.service import Runs
from bathysphere.server.errors import CheckpointNotFound
from bathysphere.server.langgraph_api.bounded_answers import encode
from bathysphere.server.langgraph_api.serializers import run_json
from bathysphere.server.langgraph_api.thread_states import States, fields


class WebhookBodies:
    """Writes bodies, from what the run's owner can read."""

    def __init__(self, runs: Runs, states: States) -> None:
        self._runs = runs
        self._states = states

    async def write(self, delivery: Delivery, sent_at: datetime) -> bytes:
        """Write the body of a webhook.

        Raises:
            RunNotFound: The run was deleted.
            ThreadNotFound: Its thread was deleted.
        """
        run = await self._runs.get(delivery.run_id, owner=delivery.owner)
        body: dict[str, Any] = {
            **run_json(run),
            "run_started_at": _time(run.started_at),
            "run_ended_at": _time(run.finished_at),
            "webhook_sent_at": _time(sent_at),
            "values": await self._values(run, delivery.details["checkpoint_id"]),
        }
        encoded = await encode(body)
        if len(encoded) > self._states.limits.bytes:
            encoded = await encode({**body, "values": None, "values_omitted": True})
        return encoded

    async def _values(self, run: Run, checkpoint_id: str | None) -> Any:
        if checkpoint_id is None:
            return None
        try:
            async with self._states.reads.turn(run.owner):
                state = await self._states.read(
                    run.thread_id, owner=run.owner, checkpoint_id=checkpoint_id
                )
        except CheckpointNotFound:  # a later run was rolled back to before it
            return None
        if run.status == "interrupted" and state["interrupts"]:
            return {**fields(state["values"]), "__interrupt__": state["interrupts"]}
        return state["values"]


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment is not None else None
