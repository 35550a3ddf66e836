"""The user stories on a desk and a phone, by day and in the dark: `make stories`.

Each test is told COUNT times in each form; a story that waited in vain is told once more, and
counted as repeated. Three processes tell stories side by side; those that measure are told alone
after them. The last line is JSON.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

HERE = Path(__file__).parent
FORMS = ("desk-light", "desk-dark", "phone-light", "phone-dark")
STORIES = {
    "first visit": "stories::test_from_the_first_question_to_a_streamed_answer",
    "attach and ask": "files_stories::test_the_default_agent_reads_a_pdf_changes_a_note_in_part_"
    "and_compares_two",
    "drop on the page": "files_stories::test_a_dropped_pdf_gives_up_a_sentence_by_its_meaning",
    "answer by the composer, and set requests aside": "stories::test_the_composer_answers_a_"
    "question_and_sets_requests_aside_only_when_meant",
    "three requests": "stories::test_three_requests_of_two_subagents_are_answered_out_of_order",
    "approve and undo": "bucket_stories::test_a_change_is_approved_as_a_difference_seen_recorded_"
    "and_undone",
    "tutor with an essay": "tutor_stories::test_a_map_that_grows_with_the_talk_and_that_only_the_"
    "person_decides",
    "edit and export the map": "tutor_stories::test_what_the_person_writes_on_the_map_reaches_the_"
    "tutor_and_goes_out_as_files",
    "research with documents": "research_stories::test_passages_of_the_persons_documents_go_with_"
    "a_question_and_are_quoted",
    "follow up": "research_stories::test_a_second_message_is_answered_or_extends_the_research",
    "search, export, share and revoke": "keeping_stories::test_a_conversation_is_named_found_"
    "pinned_grouped_exported_and_shared",
    "set up a model": "settings_stories::test_a_model_is_set_up_on_ones_own_machine",
    "switch models": "model_choice_stories::test_a_model_is_chosen_switched_and_kept",
    "notifications": "stories::test_news_of_a_hidden_page_is_shown_without_contents",
    "two tabs": "stories::test_two_tabs_stay_in_step",
    "offline and back": "stories::test_the_app_opens_without_a_network",
    "sign in": "sign_in_stories::test_people_sign_in_at_the_issuer_and_are_still_where_they_were",
    "team files": "bucket_stories::test_large_folders_long_files_and_pictures_can_be_looked_at",
    "top up the wallet": "wallet_stories::test_one_step_to_pay_and_the_run_goes_on",
    "switch the language": "stories::test_the_workspace_is_read_in_german_and_back",
    "keyboard only": "stories::test_the_workspace_is_used_by_keys_alone",
    "500 conversations": "measured_stories::test_five_hundred_conversations_are_listed_and_one_is_"
    "found",
    "a thread of 2,000 messages": "measured_stories::test_a_conversation_of_two_thousand_messages_"
    "is_opened_and_continued",
    "a plan": "stories::test_a_plan_is_refused_with_a_reason_then_changed_and_carried_out",
}
MEASURED = "measured_stories::"
SIDE_BY_SIDE = 3
SHARES = {"told": 3, "measured": 1}
"""In how many shares the stories of a form are told, so that no process waits for the last one."""


class Results:
    """Counts what passed, failed and was told once more."""

    def __init__(self) -> None:
        self.passed: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.repeated: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: Any) -> None:
        name = _story(report.nodeid)
        if report.failed:
            self.failed[name] += 1
        elif report.when == "call":
            self.passed[name] += 1
        if report.when == "call" and "repeated" in dict(report.user_properties):
            self.repeated[name] += 1


def _story(test: str) -> str:
    name = test.partition("[")[0].rpartition("::")[2]
    return next(story for story, path in STORIES.items() if path.endswith(f"::{name}"))


def chosen(only: str, part: str, share: int = 0, of: int = 1) -> list[str]:
    """The tests of the stories that are asked for, or a share of them."""
    wanted = {"all": (True, False), "told": (False,), "measured": (True,)}[part]
    found = [
        path
        for story, path in STORIES.items()
        if only in story and path.startswith(MEASURED) in wanted
    ]
    return found[share::of]


def tell_all(form: str, tests: list[str]) -> dict[str, Any]:
    """Tell stories in one form, in this process."""
    os.environ["STORY_FORM"] = form
    results = Results()
    paths = [str(HERE / f"test_{path}".replace("::", ".py::")) for path in tests]
    pytest.main(["-q", "-p", "no:cacheprovider", *paths], plugins=[results])
    return {
        "form": form,
        "stories": len(tests),
        "told": len(tests) * int(os.environ["WEB_COUNT"]),
        "passed": results.passed.total(),
        "repeated": dict(results.repeated),
        "failed": dict(results.failed),
    }


def main() -> int:
    """Tell all stories in each form, or in the one that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--form", choices=FORMS)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--only", default="", help="part of a story's name")
    parser.add_argument("--part", choices=("all", "told", "measured"), default="all")
    parser.add_argument("--share", type=int, nargs=2, default=(0, 1), metavar=("NUMBER", "OF"))
    given = parser.parse_args()
    if not chosen(given.only, "all"):
        parser.error(f"no story is called {given.only}; there are: {', '.join(STORIES)}")
    os.environ["WEB_COUNT"] = str(given.count)
    if given.form:
        forms = [tell_all(given.form, chosen(given.only, given.part, *given.share))]
    else:
        forms = _in_every_form(given)
    sys.stdout.write(json.dumps({"count": given.count, "forms": forms}) + "\n")
    return 0 if all(one["passed"] == one["told"] for one in forms) else 1


def _in_every_form(given: argparse.Namespace) -> list[dict[str, Any]]:
    results = [*_tell_part("told", SIDE_BY_SIDE, given), *_tell_part("measured", 1, given)]
    return [_together([one for one in results if one["form"] == form]) for form in FORMS]


def _tell_part(part: str, side_by_side: int, given: argparse.Namespace) -> list[dict[str, Any]]:
    shares = SHARES[part]
    tasks = [
        (form, part, share)
        for share in range(shares)
        for form in FORMS
        if chosen(given.only, part, share, shares)
    ]
    with ThreadPoolExecutor(side_by_side) as processes:
        return list(processes.map(lambda task: _in_a_process(*task, given), tasks))


def _together(parts: list[dict[str, Any]]) -> dict[str, Any]:
    sums = {key: sum(part[key] for part in parts) for key in ("stories", "told", "passed")}
    counts = {
        key: {story: count for part in parts for story, count in part[key].items()}
        for key in ("repeated", "failed")
    }
    return {"form": parts[0]["form"], **sums, **counts}


def _in_a_process(form: str, part: str, share: int, given: argparse.Namespace) -> dict[str, Any]:
    options = ["--form", form, "--part", part, "--count", str(given.count), "--only", given.only]
    options += ["--share", str(share), str(SHARES[part])]
    with TemporaryDirectory() as folder:
        log = Path(folder, "log")
        with log.open("w") as file:
            subprocess.run([sys.executable, __file__, *options], stdout=file, check=False)
        text = log.read_text(encoding="utf-8")
    sys.stdout.write(text)
    [result] = json.loads(text.strip().splitlines()[-1])["forms"]
    return dict(result)


if __name__ == "__main__":
    sys.exit(main())
