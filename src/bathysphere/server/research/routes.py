"""Seed 002's research API: ask a question, decide on the plan, read the report."""

from collections.abc import AsyncGenerator
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Header, Path, Query
from starlette.responses import Response

from bathysphere.agents.research.download import Download
from bathysphere.core.identity import Owner
from bathysphere.core.json_text import dumps
from bathysphere.engine.records import Run
from bathysphere.server.deps import CurrentOwner, Key, ResearchDep, ServicesDep, Streaming, ThreadId
from bathysphere.server.langgraph_api.create_run import start
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.run_events import follow
from bathysphere.server.langgraph_api.run_requests import make_work
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.langgraph_api.thread_states import fields
from bathysphere.server.process.services import Services
from bathysphere.server.protocol.position import Position
from bathysphere.server.research import wire as wire
from bathysphere.server.research.schemas import ResearchApprove, ResearchCreate
from bathysphere.server.research.service import answer_of, question_of
from bathysphere.server.routes.runs import STREAM, location
from bathysphere.server.schemas.runs import RunCreate
from bathysphere.server.sse import EventStream, StreamRules, frame

router = APIRouter(prefix="/api/research", tags=["research"], route_class=StrictRoute)
GRAPH = "research"
Format = Annotated[Literal["md", "html", "docx", "pdf", "zip", "json"], Query(alias="format")]

ReportId = Annotated[str | None, Query(alias="report", pattern="^[0-9a-f]{24}$")]


@router.post("", response_class=Response, responses=STREAM)
async def ask(
    body: ResearchCreate, owner: CurrentOwner, services: ServicesDep, rules: Streaming, key: Key
) -> Response:
    """Start research and stream its events, up to the report or the plan."""
    thread_id = body.thread_id or key.thread_id()
    request = RunCreate(assistant_id=GRAPH, input=question_of(body), multitask_strategy="reject")
    position = 0 if key.is_given else await services.events.last_id(thread_id)
    is_new = body.thread_id is None
    run = await start(services, thread_id, request, owner=owner, key=key, create_if_missing=is_new)
    first = wire.start(str(thread_id), str(run.run_id), body.query)
    return _stream(services, run, owner, rules, after=position, first=first)


@router.post("/approve", response_class=Response, responses=STREAM)
async def approve(
    body: ResearchApprove, owner: CurrentOwner, services: ServicesDep, rules: Streaming, key: Key
) -> Response:
    """Approve, edit or reject the pending plan, and stream the events that follow."""
    thread_id = body.thread_id
    await key.before_run(thread_id, may_create=False)
    answers = await answer_of(services, body, owner=owner, graph=GRAPH)
    position = await services.events.last_id(thread_id)
    work = make_work(services.graphs, GRAPH)
    result = await services.answers.submit(thread_id, answers, owner=owner, graph=GRAPH, work=work)
    run = result.run or (await services.runs.list_of_thread(thread_id, owner=owner, limit=1))[0]
    return _stream(services, run, owner, rules, after=position)


@router.get("/{thread_id}/stream", response_class=Response, responses=STREAM)
async def join(
    thread_id: ThreadId,
    owner: CurrentOwner,
    services: ServicesDep,
    rules: Streaming,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """Rejoin the thread's newest run after `Last-Event-ID`."""
    await services.threads.get(thread_id, owner=owner)
    runs = await services.runs.list_of_thread(thread_id, owner=owner, limit=1)
    if not runs:
        return EventStream(_no_frames(), rules=rules)
    after = Position.from_last_event_id(last_event_id).entry
    return _stream(services, runs[0], owner, rules, after=after)


@router.get("/{thread_id}", response_model=dict[str, Any])
async def get(thread_id: ThreadId, owner: CurrentOwner, services: ServicesDep) -> Response:
    """The state of a research thread, in the format of its stream."""
    state = await services.states.read(thread_id, owner=owner)
    questions = [{**fields(q["value"]), "interrupt_id": q["id"]} for q in state["interrupts"]]
    view = wire.view(fields(state["values"]))
    return JSON({"threadId": str(thread_id), "state": view, "questions": wire.camel(questions)})


@router.get("/{thread_id}/report", response_class=Response)
async def report(
    thread_id: ThreadId,
    owner: CurrentOwner,
    services: ServicesDep,
    research: ResearchDep,
    kind: Format = "md",
    report_id: ReportId = None,
) -> Response:
    """Download the newest report, or one by its id, as a document, JSON, or the proof as ZIP."""
    state = await services.states.read(thread_id, owner=owner)
    values = await research.report_values(
        services, thread_id, fields(state["values"]), report_id, owner=owner
    )
    file = await research.download(services, thread_id, values, kind, owner=owner)
    return _file(file)


@router.get("/{thread_id}/reports", response_model=dict[str, Any])
async def reports(
    thread_id: ThreadId, owner: CurrentOwner, services: ServicesDep, research: ResearchDep
) -> Response:
    """List all reports of the thread, oldest first."""
    await services.threads.get(thread_id, owner=owner)
    found = await research.reports(services, thread_id, owner=owner)
    return JSON({"threadId": str(thread_id), "reports": wire.camel(found)})


@router.get("/{thread_id}/sources/{snapshot_id}", response_model=dict[str, Any])
async def source(
    thread_id: ThreadId,
    snapshot_id: Annotated[str, Path(pattern="^[0-9a-f]{24}$")],
    owner: CurrentOwner,
    services: ServicesDep,
    research: ResearchDep,
) -> Response:
    """A source as it was read; offsets of quotes count UTF-8 bytes of its text."""
    await services.threads.get(thread_id, owner=owner)
    snapshot = await research.snapshot(services, thread_id, snapshot_id, owner=owner)
    return JSON({**wire.camel(snapshot.info.model_dump()), "text": snapshot.text})


def _stream(
    services: Services,
    run: Run,
    owner: Owner,
    rules: StreamRules,
    *,
    after: int,
    first: wire.Part | None = None,
) -> Response:
    chunks = _frames(services, run, owner, after=after, first=first)
    headers = {**location(run), "X-Thread-Id": str(run.thread_id)}
    return EventStream(chunks, rules=rules, headers=headers)


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


async def _no_frames() -> AsyncGenerator[bytes, None]:
    for none in list[bytes]():
        yield none


def _file(file: Download) -> Response:
    return Response(
        file.body,
        media_type=file.media_type,
        headers={
            "Content-Disposition": _disposition(file.name),
            "X-Content-Type-Options": "nosniff",
        },
    )


def _disposition(name: str) -> str:
    """Name a download (RFC 6266), with an ASCII fallback for old clients."""
    plain = name if name.isascii() else f"report.{name.rpartition('.')[2]}"
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name)}"
