"""A FastAPI app with the engine inside: its routes start durable runs and know the caller.

The engine serves this app beside its own API, under the same authentication. A route calls the API
as the person who called the route: their credential is passed on, and nothing else is trusted.
"""

from typing import Any

from fastapi import FastAPI, HTTPException, Request
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError
from pydantic import BaseModel

app = FastAPI(title="Tickets")


class Ticket(BaseModel):
    """What a person writes."""

    text: str


@app.post("/tickets", status_code=202)
async def open_ticket(ticket: Ticket, request: Request) -> dict[str, str]:
    """Start a run and return at once; it goes on if this process dies."""
    client = _engine(request)
    thread = await client.threads.create(metadata={"kind": "ticket"})
    said = {"messages": [{"role": "user", "content": ticket.text}]}
    await client.runs.create(thread["thread_id"], "support", input=said)
    return {"ticket": thread["thread_id"], "opened_by": request.user.identity}


@app.get("/tickets/{ticket}")
async def read_ticket(ticket: str, request: Request) -> dict[str, Any]:
    """Return the state of a ticket, and its answer when there is one."""
    try:
        thread = await _engine(request).threads.get(ticket)
    except NotFoundError as error:
        raise HTTPException(404, "There is no such ticket of yours") from error
    is_answered = thread["status"] == "idle" and thread["values"]
    messages = thread["values"]["messages"] if is_answered else []
    return {"status": thread["status"], "answer": messages[-1]["content"] if messages else None}


def _engine(request: Request) -> LangGraphClient:
    token = request.headers.get("authorization")
    return get_client(
        url=str(request.base_url),
        # None, where the caller has none: by default the client sends a key of the environment.
        api_key=request.headers.get("x-api-key"),
        headers={"authorization": token} if token else None,
    )
