"""The user stories, each in a page of its own; what leaves the origin fails any of them."""

import json

import pytest

from bathysphere.testing import calls, refuses, says, slowly, together

pytestmark = [pytest.mark.services, pytest.mark.node, pytest.mark.timeout(120)]

DEEP = """Beebe went down to **923 m**.

| year | depth |
|---|---|
| 1934 | 923 m |

<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script>

It was off Bermuda."""
COUNTED = " ".join(f"Word {n}" for n in range(1, 61)) + " The end."


DIAGRAMS = """The way down:

```mermaid
flowchart LR
  A[Deck of the barge] --> B{Is the hatch sealed?}
  B -- yes --> C[Lower the sphere]
  B -- no --> A
  C --> D[(Log of the dive)]
```

```mermaid
sequenceDiagram
  participant B as Beebe
  participant S as Surface
  B->>S: 923 metres, all is well
  S-->>B: Time to come up
  Note over B,S: by telephone
```

```mermaid
%%{init: {"securityLevel": "loose", "htmlLabels": true, "themeCSS": "* {color: red}"}}%%
flowchart TD
  X[Click me] --> Y[Or me] --> Z[Or me]
  click X "javascript:window.hacked=1" "tip"
  click Y call hack()
  click Z href "https://evil.example/?q=1"
```

```mermaid
flowchart TD
  X["<img src=x onerror='window.hacked = 1'> a label"] --> Y["<script>window.hacked = 1</script>"]
```

```mermaid
flowchart ?
  this is no diagram
```

That is all."""


def helper(task):
    args = {"description": task, "subagent_type": "general-purpose"}
    return calls("task", args)


def edit(path, old, new):
    return calls("edit_file", file_path=path, old_string=old, new_string=new)


def test_from_the_first_question_to_a_streamed_answer(story):
    story("first_question", [slowly(says(DEEP), pause=0.05)])


@pytest.mark.long("tests/e2e/web/test_build.py::test_the_web_checks_pass")
def test_diagrams_are_drawn_and_what_is_hostile_in_them_does_nothing(story):
    story("diagrams", [says(DIAGRAMS)])


@pytest.mark.long(
    "tests/e2e/web/test_stories.py"
    "::test_the_composer_answers_a_question_and_sets_requests_aside_only_when_meant"
)
def test_an_ambiguous_request_is_asked_about_and_answered(story):
    options = [
        {"id": "river", "label": "The bank of a river"},
        {"id": "money", "label": "A house of money"},
    ]
    ask = calls("ask_choices", question="Which bank do you mean?", options=options)
    story("clarify", [ask, says("How the money house began.")])


@pytest.mark.long("tests/e2e/web/test_build.py::test_the_web_checks_pass")
def test_news_of_a_hidden_page_is_shown_without_contents(story):
    script = [
        calls("write_file", file_path="/secret.md", content="a small secret"),
        edit("/secret.md", "small", "large"),
        slowly(says("The secret is written."), pause=0.2),
    ]
    story("notifications", script)


def test_three_requests_of_two_subagents_are_answered_out_of_order(story):
    files = {"/a.md": "a small fish", "/b.md": "a grey whale", "/c.md": "an old note"}
    writes = [calls("write_file", file_path=path, content=text) for path, text in files.items()]
    both = together(
        edit("/a.md", "small", "large"),
        edit("/b.md", "grey whale", "white whale"),
        text="Two edits.",
    )
    script = [
        together(*writes),
        together(helper("Correct the notes"), helper("Remove what is old")),
        both,
        calls("delete", path="/c.md"),
        says("Done."),
        says("Done too."),
        says("The helpers are back."),
    ]
    story("answers", script)


def test_a_reload_during_a_run_goes_on_where_the_stream_was(story):
    story("reload", [slowly(says(COUNTED), pause=0.1)])


@pytest.mark.long(
    "tests/e2e/web/test_stories.py::test_from_the_first_question_to_a_streamed_answer"
)
def test_the_workspace_is_read_in_german_and_back(story):
    story("languages")


def test_two_tabs_stay_in_step(story):
    script = [
        calls("ask_user", question="Which one?"),
        says("Then it is the fin of a whale."),
        slowly(says("He is on the boat."), pause=0.05),
    ]
    story("two_tabs", script)


def test_a_plan_is_refused_with_a_reason_then_changed_and_carried_out(story):
    story("plan")


def test_an_unknown_request_gets_a_form_from_its_schema(story):
    story("unknown")


def test_a_message_is_edited_and_answered_again_and_every_version_is_kept(story):
    story("versions", [says(f"A {name}.") for name in ("tench", "wren", "robin", "pike")])


def test_stop_keeps_what_was_written_and_errors_say_what_to_do(story):
    script = [slowly(says(COUNTED), pause=0.1), refuses(400, "No."), says("Now it works.")]
    story("stop", script)


@pytest.mark.long(
    "tests/e2e/web/test_stories.py::test_from_the_first_question_to_a_streamed_answer"
)
def test_every_view_is_accessible_in_every_form_and_by_keys(story):
    plan = calls("write_todos", todos=[{"content": "Look", "status": "completed"}])
    story("everywhere", [plan, says("Here is the reef.")])


LINKED = "It is public: [the log](https://collect.example/?q=everything-that-was-said-in-this-talk)"


def test_the_layout_holds_and_a_link_that_carries_data_is_asked_about(story):
    work = json.dumps({"move": "work", "why": "They ask for a place."})
    story("layout", [says(work), says(LINKED)])


def test_the_panel_is_closed_until_something_is_in_it_and_stays_as_it_was_left(story):
    plan = calls("write_todos", todos=[{"content": "Look at the reef", "status": "completed"}])
    story("panel", [plan, says("Here is the reef.")])


def test_quick_switches_and_refusals_leave_one_stream_and_lose_nothing(story):
    work = says(json.dumps({"move": "work", "why": "They ask for a change."}))
    script = [
        says("Thirty metres."),
        says("The Mariana trench."),
        says("It is the Challenger Deep."),
        work,
        calls("list_user_files"),
        says("You have none yet."),
    ]
    figures = story("steady", script)
    assert figures["streams"] == 1, figures
    assert figures["answers_in_10_s"] <= 11, figures


def test_the_composer_answers_a_question_and_sets_requests_aside_only_when_meant(story):
    writes = [calls("write_file", file_path=f"/{n}.md", content=n) for n in ("a", "b")]
    edits = [edit(f"/{n}.md", n, n * 2) for n in ("a", "b")]
    script = [
        calls("ask_user", question="Which city do you mean?"),
        says("Ghent has three towers."),
        together(*writes),
        calls("read_file", file_path="/a.md"),
        together(*edits),
        says("As you like."),
    ]
    story("questions", script)


def test_an_address_of_nobody_is_not_found_and_its_id_is_never_used(story):
    story("not_found", [says("Here I am.")])


def test_the_app_opens_without_a_network(story):
    story("offline", [says("Here I am.")])


def test_a_server_that_asks_for_a_key_gets_it(story):
    story("key")


@pytest.mark.long(
    "tests/integration/server/test_memories.py"
    "::test_written_by_the_agent_edited_and_deleted_by_the_person"
)
def test_a_person_reads_edits_and_deletes_what_an_agent_noted(rig, story):
    write = calls("write_file", file_path="/memories/drinks.md", content="Drinks tea.")
    answers = ["I noted it.", "You drink cocoa.", "I do not know."]
    story("memory", [write, *map(says, answers)])
    sent = [json.dumps(request.body) for request in rig.model.requests()]
    assert ["Drinks tea." in one for one in sent] == [False, True, False, False]
    assert ["Drinks cocoa." in one for one in sent] == [False, False, True, False]


def test_the_workspace_is_used_by_keys_alone(story):
    asked = calls("ask_user", question="Which reef do you mean?")
    story("keyboard", [asked, says("That one is alive.")])
