"""The planner: an oracle that knows which calls a task needs, but only what the request says.

It writes a step for each call that changes or sends something. An argument is filled in only if
its value can be read off the request; it refers to a look-up, or to a link in a source, only if
the request says what to look up or which source is meant. Otherwise it is left open, and a call of
the step will be asked about.
"""

import re
from collections.abc import Iterator
from datetime import date, datetime
from functools import cache
from typing import Any

from agentdojo.functions_runtime import FunctionCall
from dojo_cases import Case, load_environment, suites
from dojo_flows import DECLARED
from dojo_scenario import CHANGING, SENDING, runtime, tool_name
from pydantic_core import to_jsonable_python

NO_STEPS = {
    *(("workspace", "user_task_13"), ("workspace", "user_task_19"), ("banking", "user_task_12")),
    *(("slack", "user_task_18"), ("slack", "user_task_19")),
}
"""Tasks that say "do what the text says": nobody can plan them."""
NO_PAGES = {("slack", "user_task_4"), ("slack", "user_task_11")}
"""Tasks with pages that only a message names."""
SOURCES = {"read_channel_messages", "read_inbox"}
"""Functions whose results may contain links."""
CATALOGUES = {"get_all_hotels_in_city", "get_all_restaurants_in_city"}
"""Functions whose results are names."""
LOOKUPS = {name: declared["finds"] for name, declared in DECLARED.items() if "finds" in declared}
_MANY = re.compile(r"\b(each|all|every)\b", re.IGNORECASE)
_TEMPLATE = re.compile(r"""['"]([^'"{}]*)\{\w+\}([^'"{}]*)['"]""")
_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:\.\d+)?(?![\w-])")

Step = dict[str, Any]


def plan(case: Case) -> list[Step]:
    """The steps that the request of a case says, whatever is injected later."""
    return [dict(step) for step in _plan(case.suite, case.user)]


@cache
def _plan(suite: str, user: str) -> tuple[Step, ...]:
    if (suite, user) in NO_STEPS:
        return ()
    task = suites()[suite].user_tasks[user]
    environment = load_environment(Case(suite, user))
    calls = task.ground_truth(environment.model_copy(deep=True))
    results = []
    for call in calls:
        result, _ = runtime(suite).run_function(environment, call.function, dict(call.args))
        results.append(to_jsonable_python(result))
    pages = (suite, user) not in NO_PAGES
    return tuple(_Planner(task.PROMPT, calls, results, with_pages=pages).steps())


class _Planner:
    """A request, the calls that its task needs, and what they return when nobody attacks."""

    def __init__(
        self, request: str, calls: list[FunctionCall], results: list[Any], *, with_pages: bool
    ) -> None:
        self.request, self.calls, self.results = request, calls, results
        self.with_pages = with_pages

    def steps(self) -> list[Step]:
        found = [
            self._step(number)
            for number, call in enumerate(self.calls)
            if self._is_needed(number, call)
        ]
        return _merge_repeated(found) if _MANY.search(self.request) else found

    def _is_needed(self, number: int, call: FunctionCall) -> bool:
        if call.function in SENDING and not self.with_pages:
            return False
        if call.function in CHANGING | SENDING:
            return True
        # Of the reads, those that another step may refer to.
        known = {*LOOKUPS, *SOURCES, *CATALOGUES}
        first = next(i for i, other in enumerate(self.calls) if other == call)
        return call.function in known and first == number and self._is_said_whole(call)

    def _is_said_whole(self, call: FunctionCall) -> bool:
        return all(is_said(value, self.request) for value in call.args.values())

    def _step(self, number: int) -> Step:
        call = self.calls[number]
        step: Step = {"id": f"s{number + 1}", "tool": tool_name(call.function)}
        arguments, references = {}, {}
        for name, value in call.args.items():
            if is_said(value, self.request):
                arguments[name] = to_jsonable_python(value)
            elif call.function in CHANGING | SENDING:
                words, reference = self._reference(number, name, value)
                if reference:
                    references[name] = reference
                if words:
                    arguments[name] = words
        return {**step, "arguments": arguments, "references": references, "many": False}

    def _reference(self, number: int, name: str, value: Any) -> tuple[str, str]:
        """Words and a reference for a value that the request does not say."""
        for earlier, call in enumerate(self.calls[:number]):
            if not self._is_needed(earlier, call):
                continue
            if name == "url" and call.function in SOURCES:
                if str(value) in str(self.results[earlier]):
                    return "", f"s{earlier + 1}.link"
            elif call.function in CATALOGUES:
                if name == "title" and (words := self._template(value)):
                    return words, f"s{earlier + 1}.name"
            elif field := _found_field(call, self.results[earlier], value):
                return "", f"s{earlier + 1}.{field}"
        return "", ""

    def _template(self, value: str) -> str:
        """The words of a template in the request, such as "Dinner at {restaurant}"."""
        for before, after in _TEMPLATE.findall(self.request):
            if value.startswith(before) and value.endswith(after):
                return before.strip()
        return ""


def _found_field(call: FunctionCall, result: Any, value: Any) -> str:
    """The field of the record that a look-up is for, if it is a call's value."""
    if call.function not in LOOKUPS:
        return ""
    lookup = LOOKUPS[call.function]
    wanted = [call.args.get(key) for key in lookup["keys"]]
    named = [record for record in result if record[lookup["name"]] in wanted]
    # Somebody who asks for "the grocery list" does not say what its file is called.
    records = named or (result if len(result) == 1 else [])
    for record in records:
        for field in lookup["fields"]:
            if record[field] == value or [record[field]] == _leaves(value):
                return field
    return ""


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [inner for key, inner in value.items() if key != "type"]
    if isinstance(value, list):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _merge_repeated(steps: list[Step]) -> list[Step]:
    """Make one step of several that say the same: the request says "each" or "all"."""
    merged: list[Step] = []
    for step in steps:
        said = {key: value for key, value in step.items() if key not in ("id", "many")}
        same = [m for m in merged if said.items() <= m.items()]
        if same:
            same[0]["many"] = True
        else:
            merged.append(step)
    return merged


# ── what can be read off a request ──


def is_said(value: Any, request: str) -> bool:
    """Whether a value can be read off a request: words, numbers, dates in any form."""
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, int | float):
        return any(float(number) == value for number in _NUMBER.findall(request))
    if isinstance(value, list):
        return bool(value) and all(is_said(item, request) for item in value)
    if not isinstance(value, str) or not value.strip():
        return False
    found = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", request, re.IGNORECASE)
    return found is not None or _is_date_said(value, request)


def _is_date_said(value: str, request: str) -> bool:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return False
    has_time = len(value) > len("2024-05-15")
    if has_time and not re.search(rf"(?<!\d){moment:%H:%M}(?!\d)", request):
        return False
    if moment.date().isoformat() in request:
        return True
    forms = any(re.search(form, request, re.IGNORECASE) for form in _forms(moment.date()))
    return forms and str(moment.year) in request


def _forms(day: date) -> Iterator[str]:
    ordinal = rf"{day.day}(?:st|nd|rd|th)?"
    yield rf"\b{day:%B} {ordinal}\b"
    yield rf"\b{ordinal} (?:of )?{day:%B}\b"
