"""Research that found nothing says so first, says what failed and why, and offers what to do."""

from research_rig import ONE_SEARCH, QUESTION, Pages, Rig, answering, plan

from bathysphere.agents.research.outcome import KEPT, OFFER


class NoPages(Pages):
    """A search that finds pages which cannot be opened."""

    async def fetch(self, url, may_visit, requester=None):
        return await super().fetch(f"{url}/gone", may_visit, requester)


async def test_pages_that_could_not_be_read_are_named_with_the_reason():
    state = await Rig(pages=NoPages()).finish()
    assert state["status"] == "failed"
    text = state["error_message"]
    assert text.startswith("No source answers this question. 1 of 1 step failed: ")
    assert "“bathysphere depth”: 2 pages could not be read:" in text
    assert "https://sea.example/dives/gone is not there" in text
    assert text.endswith(OFFER)


async def test_the_conversation_keeps_what_was_said_and_no_report():
    state = await Rig(pages=NoPages()).finish()
    assert state["messages"][-1].type == "ai"
    assert state["messages"][-1].text == state["error_message"]
    assert state["report"] is None
    assert state["history"]["reports"] == []


async def test_sources_that_do_not_answer_are_told_apart_from_none():
    state = await Rig(answering(ReportForm={"claims": []})).finish()
    assert state["status"] == "failed"
    first = "The sources that were read do not answer this question. 1 step succeeded. "
    assert state["error_message"] == first + OFFER


async def test_a_follow_up_that_finds_nothing_keeps_the_earlier_report():
    gone = plan(("fetch_page", "https://gone.example/x"))
    model = answering(PlanForm=[ONE_SEARCH, gone], RouteForm={"kind": "new", "reason": ""})
    rig = Rig(model)
    first = await rig.finish()
    state = await rig.finish("Something else?")
    assert state["status"] == "failed"
    assert state["error_message"].endswith(f"{OFFER} {KEPT}")
    assert state["history"]["reports"] == first["history"]["reports"]
    assert [one["question"] for one in state["history"]["asked"]] == [QUESTION, "Something else?"]
