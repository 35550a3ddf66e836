"""Passages of the person's documents, attached to a research question."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.types import Command
from research_rig import Rig, answering, claim, plan

from bathysphere.agents.research.agent import sealer_of
from bathysphere.agents.research.attachments import Attachments, DocumentPassage
from bathysphere.agents.research.plan_seal import check_permit
from bathysphere.core.errors import BathysphereError

NOTES = "# Notes\n\nÜber den Tauchgang: the hatch weighed 180 kilograms.\n\nThe crew was two.\n"
LETTER = "Dear Otis, the steel cable was 1,000 metres long. Yours, Will.\n"


def passage(text: str, words: str, *, file: str = "notes.md", title: str = "Notes") -> dict:
    start = len(text[: text.index(words)].encode())
    return {
        "file": file,
        "title": title,
        "version": hashlib.sha256(text.encode()).hexdigest(),
        "start": start,
        "end": start + len(words.encode()),
        "text": words,
    }


HATCH = passage(NOTES, "Über den Tauchgang: the hatch weighed 180 kilograms.")
CREW = passage(NOTES, "The crew was two.")
CABLE = passage(LETTER, LETTER.strip(), file="a/letter 1.txt", title="Letter")


async def test_each_passage_is_a_source_that_names_its_document_version_and_place():
    report = {
        "claims": [
            claim("The hatch weighed 180 kilograms.", ("S2", "the hatch weighed 180 kilograms")),
            claim("The cable was 1,000 metres long.", ("S3", "cable was 1,000 metres long")),
        ]
    }
    model = answering(PlanForm=plan(("fetch_page", "https://sea.example/dives")), ReportForm=report)
    state = await Rig(model).finish(documents=[HATCH, CABLE])
    sources = [source for source in state["sources"] if source["origin"] == "client"]
    assert [source["title"] for source in sources] == ["Notes", "Letter"]
    assert sources[0]["url"] == (
        f"document:notes.md?version={HATCH['version']}#bytes={HATCH['start']}-{HATCH['end']}"
    )
    assert sources[1]["url"].startswith("document:a%2Fletter%201.txt?version=")
    tally = state["report"]["tally"]
    assert tally["supported"] + tally["repaired"] == 2


async def test_the_model_plans_with_the_passages_and_no_search_repeats_them():
    query = "Über den Tauchgang the hatch weighed 180 kilograms"
    rig = Rig(answering(PlanForm=plan(("web_search", query))))
    state = await rig.ask(documents=[HATCH], max_plan_revisions=1)
    assert state["status"] == "failed"
    assert "repeats words of the context" in state["error_message"]
    assert rig.pages.asked["search", query] == 0


async def test_two_passages_of_one_document_are_not_two_independent_sources():
    report = {
        "claims": [
            claim(
                "The hatch weighed 180 kilograms and the crew was two.",
                ("S2", "the hatch weighed 180 kilograms"),
                ("S3", "The crew was two."),
            )
        ]
    }
    model = answering(PlanForm=plan(("fetch_page", "https://sea.example/dives")), ReportForm=report)
    state = await Rig(model).finish(documents=[HATCH, CREW])
    (found,) = [one for section in state["report"]["sections"] for one in section["claims"]]
    assert found["independent"] == 1
    flags = [one["flags"] for one in state["report"]["sources"] if "document:" in str(one)]
    assert flags == [[], []]


async def test_an_approval_is_bound_to_the_passages():
    rig = Rig()
    await rig.ask(documents=[HATCH])
    approve = Command(resume={"type": "approve"})
    await rig.graph.ainvoke(approve, rig.thread, interrupt_before=["tool_executor"])
    state = (await rig.graph.aget_state(rig.thread)).values
    sealer = sealer_of(rig.config)
    check_permit(sealer, state, "t")
    with pytest.raises(BathysphereError):
        check_permit(sealer, {**state, "documents": [CABLE]}, "t")


async def test_a_new_question_reads_its_own_passages():
    rig = Rig()
    await rig.finish(documents=[HATCH])
    state = await rig.finish(documents=[CABLE])
    titles = [source["title"] for source in state["sources"] if source["origin"] == "client"]
    assert titles == ["Letter"]


@pytest.mark.parametrize(
    "broken",
    [
        {**HATCH, "end": HATCH["end"] + 1},
        {**HATCH, "text": HATCH["text"].replace("180", "18")},
        {**HATCH, "version": "abc"},
        {**HATCH, "start": -1},
        {**HATCH, "more": 1},
        "not a passage",
    ],
)
def test_what_is_not_a_passage_is_refused(broken):
    with pytest.raises(BathysphereError, match=r"documents\.0"):
        Attachments.of({"documents": [broken]})


def test_the_number_of_passages_is_limited():
    with pytest.raises(BathysphereError, match="documents"):
        Attachments.of({"documents": [HATCH] * 21})


@given(st.text(min_size=1, max_size=200).filter(lambda text: text.strip()), st.data())
def test_a_quote_stands_in_the_document_where_its_source_says(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    try:
        body = text.encode()
    except UnicodeEncodeError:
        return
    words = text[start:end]
    first = len(text[:start].encode())
    found = DocumentPassage(
        file="f",
        title="",
        version="0" * 64,
        start=first,
        end=first + len(words.encode()),
        text=words,
    )
    place = found.url.rsplit("#bytes=", 1)[1].split("-")
    assert body[int(place[0]) : int(place[1])].decode() == words
