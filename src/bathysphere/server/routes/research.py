"""Seed 002's API: ask a question, decide about the plan, read the report. Runs like all others."""

from collections.abc import AsyncGenerator
from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import APIRouter, Header, Path, Query
from starlette.responses import Response

from bathysphere.agents.research.download import Download
from bathysphere.engine.records import Owner, Run
from bathysphere.server.deps import CurrentOwner, DeskDep, Heartbeat, ServicesDep, ThreadId
from bathysphere.server.following import follow
from bathysphere.server.jsonable import JSON, dumps
from bathysphere.server.protocol import research as wire
from bathysphere.server.questions import give
from bathysphere.server.research import answer_of, question_of
from bathysphere.server.routes.runs import STREAM, location, number_of
from bathysphere.server.schemas.research import ResearchApprove, ResearchCreate
from bathysphere.server.schemas.runs import RunCreate
from bathysphere.server.services import Services
from bathysphere.server.sse import EventStream, frame
from bathysphere.server.starting import start
from bathysphere.server.strict import StrictRoute
from bathysphere.server.work import make_work

router = APIRouter(prefix="/api/research", tags=["research"], route_class=StrictRoute)
GRAPH = "research"
Format = Annotated[Literal["md", "html", "docx", "pdf", "zip", "json"], Query(alias="format")]


@router.post("", response_class=Response, responses=STREAM)
async def ask(
    body: ResearchCreate, owner: CurrentOwner, services: ServicesDep, heartbeat: Heartbeat
) -> Response:
    """Start research and stream what happens, up to its report or its plan."""
    thread_id = body.thread_id or uuid4()
    asked = RunCreate(assistant_id=GRAPH, input=question_of(body), multitask_strategy="reject")
    position = await services.events.last_id(thread_id)
    run = await start(services, thread_id, asked, owner=owner, creates=body.thread_id is None)
    first = wire.start(str(thread_id), str(run.run_id), body.query)
    return _stream(services, run, owner, heartbeat, after=position, first=first)


@router.post("/approve", response_class=Response, responses=STREAM)
async def approve(
    body: ResearchApprove, owner: CurrentOwner, services: ServicesDep, heartbeat: Heartbeat
) -> Response:
    """Approve, edit or reject the plan that waits, and stream what happens then."""
    thread_id = body.thread_id
    answers = await answer_of(services, body, owner=owner, graph=GRAPH)
    position = await services.events.last_id(thread_id)
    given = await give(services, thread_id, answers, owner=owner, graph=GRAPH, work=make_work())
    run = given.run or (await services.runs.of_thread(thread_id, owner=owner, limit=1))[0]
    return _stream(services, run, owner, heartbeat, after=position)


@router.get("/{thread_id}/stream", response_class=Response, responses=STREAM)
async def join(
    thread_id: ThreadId,
    owner: CurrentOwner,
    services: ServicesDep,
    heartbeat: Heartbeat,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """Join the thread's newest run again, from the last event that was seen."""
    await services.threads.get(thread_id, owner=owner)
    runs = await services.runs.of_thread(thread_id, owner=owner, limit=1)
    if not runs:
        return EventStream(_nothing(), heartbeat=heartbeat)
    return _stream(services, runs[0], owner, heartbeat, after=number_of(last_event_id))


@router.get("/{thread_id}", response_model=dict[str, Any])
async def get(thread_id: ThreadId, owner: CurrentOwner, services: ServicesDep) -> Response:
    """The state of a research thread, as its stream would have told it."""
    state = await services.states.read(thread_id, owner=owner)
    questions = [q["value"] | {"interrupt_id": q["id"]} for q in state["interrupts"]]
    view = wire.view(state["values"])
    return JSON({"threadId": str(thread_id), "state": view, "questions": wire.camel(questions)})


@router.get("/{thread_id}/report", response_class=Response)
async def report(
    thread_id: ThreadId,
    owner: CurrentOwner,
    services: ServicesDep,
    desk: DeskDep,
    kind: Format = "md",
) -> Response:
    """The report: Markdown, HTML, DOCX, PDF, or the proof as one ZIP file."""
    state = await services.states.read(thread_id, owner=owner)
    file = await desk.download(services, thread_id, state["values"], kind, owner=owner)
    return _file(file)


@router.get("/{thread_id}/sources/{snapshot_id}", response_model=dict[str, Any])
async def source(
    thread_id: ThreadId,
    snapshot_id: Annotated[str, Path(pattern="^[0-9a-f]{24}$")],
    owner: CurrentOwner,
    services: ServicesDep,
    desk: DeskDep,
) -> Response:
    """A source as it was read: its text, which the offsets of quotes count in bytes of UTF-8."""
    await services.threads.get(thread_id, owner=owner)
    snapshot = await desk.snapshot(services, thread_id, snapshot_id, owner=owner)
    return JSON({**wire.camel(snapshot.info.model_dump()), "text": snapshot.text})


def _stream(
    services: Services,
    run: Run,
    owner: Owner,
    heartbeat: float,
    *,
    after: int,
    first: wire.Part | None = None,
) -> Response:
    chunks = _frames(services, run, owner, after=after, first=first)
    headers = {**location(run), "X-Thread-Id": str(run.thread_id)}
    return EventStream(chunks, heartbeat=heartbeat, headers=headers)


async def _frames(
    services: Services, run: Run, owner: Owner, *, after: int, first: wire.Part | None
) -> AsyncGenerator[bytes, None]:
    if first is not None:
        yield frame(dumps(first[1]), event=first[0])
    async for events in follow(services, run, owner=owner, after=after):
        frames = [
            frame(dumps(data), event=name, id=number)
            for number, event in events
            for name, data in wire.parts(event)
        ]
        if frames:
            yield b"".join(frames)


async def _nothing() -> AsyncGenerator[bytes, None]:
    for none in list[bytes]():
        yield none


def _file(file: Download) -> Response:
    return Response(
        file.body,
        media_type=file.media_type,
        headers={
            "Content-Disposition": f'attachment; filename="{file.name}"',
            "X-Content-Type-Options": "nosniff",
        },
    )
