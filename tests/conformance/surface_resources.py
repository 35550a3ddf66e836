"""What the requests of `surface_cases.py` name: threads, runs, assistants, created when needed."""

import json
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import httpx

STEPS = {"assistant_id": "steps", "input": {"name": "s", "steps": 2}}
SLOW = {"assistant_id": "steps", "input": {"name": "s", "steps": 60, "delay": 0.1}}
SHORT = {"assistant_id": "steps", "input": {"name": "s", "steps": 15, "delay": 0.1}}
ASK = {"assistant_id": "chat", "input": {"messages": [{"role": "user", "content": "ask"}]}}
CRON = {"assistant_id": "steps", "schedule": "0 0 1 1 *", "input": {"name": "c"}}


class Resources:
    """Ids of resources on one server; a name that begins with `new_` is created for each use."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self._known: dict[str, str] = {"mark": str(uuid4())}

    async def fill(self, value: Any) -> Any:
        """The same with every `{name}` replaced."""
        text = json.dumps(value)
        for name in [n for n in (*MAKERS, *PAIRS, "mark") if "{" + n + "}" in text]:
            text = text.replace("{" + name + "}", await self._id(name))
        return json.loads(text)

    async def _id(self, name: str) -> str:
        if name in MAKERS and (name.startswith("new_") or name not in self._known):
            self._known |= await MAKERS[name](self)
        elif name not in self._known:
            self._known |= await MAKERS[PAIRS[name]](self)
        return self._known[name]

    async def post(self, path: str, body: Any) -> Any:
        """Create something."""
        answer = await self._http.post(path, json=body)
        answer.raise_for_status()
        return answer.json()

    async def thread(self) -> str:
        """A new thread."""
        body = {"metadata": {"suite": self._known["mark"]}}
        return str((await self.post("/threads", body))["thread_id"])

    async def run(self, body: Any, name: str, *, waits: bool = False) -> dict[str, str]:
        """A new thread with a run."""
        thread = await self.thread()
        run = await self.post(f"/threads/{thread}/runs", body)
        if waits:
            answer = await self._http.get(f"/threads/{thread}/runs/{run['run_id']}/join")
            answer.raise_for_status()
        return {name: thread, f"{name}_run": run["run_id"]}

    async def system_assistant(self, graph: str) -> str:
        """The assistant of a graph."""
        found = await self.post(
            "/assistants/search", {"graph_id": graph, "metadata": {"created_by": "system"}}
        )
        return str(found[0]["assistant_id"])


async def _thread(made: Resources) -> dict[str, str]:
    known = await made.run(STEPS, "thread", waits=True)
    answer = await made._http.get(f"/threads/{known['thread']}/state")
    checkpoint = answer.json()["checkpoint"]["checkpoint_id"]
    return {**known, "run": known["thread_run"], "checkpoint": checkpoint}


async def _assistant(made: Resources, name: str) -> dict[str, str]:
    found = await made.post("/assistants", {"graph_id": "told", "name": "a"})
    return {name: found["assistant_id"]}


async def _cron(made: Resources, name: str) -> dict[str, str]:
    return {name: (await made.post("/runs/crons", CRON))["cron_id"]}


async def _new_thread(made: Resources) -> dict[str, str]:
    return {"new_thread": await made.thread()}


async def _system(made: Resources, graph: str) -> dict[str, str]:
    return {graph: await made.system_assistant(graph)}


MAKERS: dict[str, Callable[[Resources], Awaitable[dict[str, str]]]] = {
    "thread": _thread,
    "new_thread": _new_thread,
    "asking": lambda made: made.run(ASK, "asking", waits=True),
    "busy": lambda made: made.run(SLOW, "busy"),
    "streamed": lambda made: made.run(SHORT, "streamed"),
    "stopped": lambda made: made.run(SLOW, "stopped"),
    "canceled": lambda made: made.run(SLOW, "canceled"),
    "deletable": lambda made: made.run(STEPS, "deletable", waits=True),
    "assistant": lambda made: _assistant(made, "assistant"),
    "new_assistant": lambda made: _assistant(made, "new_assistant"),
    "cron": lambda made: _cron(made, "cron"),
    "new_cron": lambda made: _cron(made, "new_cron"),
    "nested": lambda made: _system(made, "nested"),
    "chat": lambda made: _system(made, "chat"),
}
PAIRS = {
    "run": "thread",
    "checkpoint": "thread",
    "stopped_run": "stopped",
    "streamed_run": "streamed",
    "canceled_run": "canceled",
    "deletable_run": "deletable",
}
