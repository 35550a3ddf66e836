"""Answer interrupts by prompting the person, according to the interrupt type.

`tool_approval` shows the call and takes approve, edit, reject or respond; `plan_approval` shows the
plan with its audit; `clarification_request` takes an answer or a choice; `tool` runs on the
person's device, which prompts before it writes; any other type is shown and answered as JSON.
"""

import difflib
import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from langgraph.types import Interrupt

from bathysphere.cli.talk import plans
from bathysphere.cli.talk.editor import available_editor, open_in
from bathysphere.cli.talk.events import MAIN
from bathysphere.cli.talk.flow_reasons import reason_lines, reasons_of, sources_to_trust
from bathysphere.cli.talk.screen import Screen, args_lines, choose
from bathysphere.core.errors import CallerError
from bathysphere.device.device import Device
from bathysphere.device.documents import NoDocuments

Approve = Literal["ask", "all", "none"]
DECISIONS = ("approve", "edit", "reject", "respond")
ALWAYS = "always"
"""Allow a tool of an MCP server for the rest of the conversation."""
TRUST = "trust"
"""Approve, and trust a source of the call's values for the rest of the conversation."""
UNATTENDED = "No one was available to approve it."
ASSUME = "No one is available to answer. State your assumption and continue."


@dataclass(frozen=True, kw_only=True, slots=True)
class Answers:
    """Answers interrupts, by prompting the person or by the `--approve` rule."""

    screen: Screen
    approve: Approve = "ask"
    unattended: bool = False
    """No one can be prompted: approvals follow the rule, questions get a standard answer."""
    device: Device = field(default_factory=lambda: Device(NoDocuments()))
    """Runs client tools on the person's documents."""

    def resolve(self, interrupt: Interrupt, asked_by: str) -> Any:
        """Get the answer to an interrupt.

        Raises:
            CallerError: If an answer is required and no one can be prompted.
        """
        value = interrupt.value
        kind = value.get("type") if isinstance(value, Mapping) else None
        if kind == "tool_approval":
            return self._approval(value, interrupt, asked_by)
        if kind == "tool":
            return self.device.run(value["tool_call"])
        if kind == "plan_approval":
            return self._plan(value, interrupt)
        if self.unattended:
            return _unanswered(value, kind)
        if kind == "clarification_request":
            return self._clarification(value, asked_by)
        return self._json(value, asked_by)

    # ── approvals ──

    def _approval(self, value: Mapping[str, Any], interrupt: Interrupt, asked_by: str) -> Any:
        by = f", for {asked_by}" if asked_by != MAIN else ""
        self.screen.heading(f"{value['name']} needs your approval{by}")
        self.screen.block(call_lines(value["name"], value["args"]))
        self.screen.block(reason_lines(reasons_of(value)))
        choices = allowed(interrupt.response_schema)
        if offers(interrupt.response_schema, ALWAYS):
            choices = (*choices, ALWAYS)
        if offers(interrupt.response_schema, TRUST) and sources_to_trust(reasons_of(value)):
            choices = (*choices, TRUST)
        decision = self._by_rule() or self._decision(choices, value)
        self.screen.note(f"    {OUTCOMES[decision['type']]}")
        return {**decision, "bound": value["bound"]} if "bound" in value else decision

    def _plan(self, value: Mapping[str, Any], interrupt: Interrupt) -> dict[str, Any]:
        plans.show(self.screen, value)
        choices = allowed(interrupt.response_schema)
        if self.approve == "all" and "approve" in choices:
            self.screen.note("    approved")
            return {"type": "approve", "plan_hash": value["plan_hash"]}
        if self.unattended or self.approve != "ask":
            raise CallerError(UNATTENDED, hint="pass --approve all, or answer in a terminal")
        match choose(self.screen, choices):
            case "edit":
                return {"type": "edit", "plan": plans.edited(self.screen, value["plan"])}
            case "reject":
                return {"type": "reject", "reason": self._ask_required("    reason")}
        return {"type": "approve", "plan_hash": value["plan_hash"]}

    def _by_rule(self) -> dict[str, Any] | None:
        if self.approve == "all":
            return {"type": "approve"}
        return {"type": "reject", "message": UNATTENDED} if self.approve == "none" else None

    def _decision(self, choices: tuple[str, ...], value: Mapping[str, Any]) -> dict[str, Any]:
        match choose(self.screen, choices):
            case "edit":
                args = self._edited(value["args"])
                return {"type": "edit", "edited_action": {"name": value["name"], "args": args}}
            case "reject":
                reason = self.screen.ask("    reason (optional)").strip()
                return {"type": "reject", "message": reason} if reason else {"type": "reject"}
            case "respond":
                return {
                    "type": "respond",
                    "message": self.screen.ask("    result to return instead"),
                }
            case "always":
                return {"type": "approve", "always": True}
            case "trust":
                return {"type": "approve", "trust": self._chosen_sources(value)}
        return {"type": "approve"}

    def _chosen_sources(self, value: Mapping[str, Any]) -> list[str]:
        sources = sources_to_trust(reasons_of(value))
        if len(sources) == 1:
            return list(sources)
        options: list[Mapping[str, Any]] = [
            {"id": key, "label": name} for key, name in sources.items()
        ]
        self.screen.block([(f"{n}  {o['label']}", "") for n, o in enumerate(options, 1)])
        while True:
            answer = self._ask_required("    numbers of the sources to trust, separated by commas")
            if chosen := _chosen_ids(answer, options):
                return chosen

    def _edited(self, args: Mapping[str, Any]) -> dict[str, Any]:
        editor = available_editor()
        if editor:
            return self._in_editor(editor, args)
        self.screen.note("    press Enter to keep a value; enter multi-line text as JSON")
        return {name: self._edited_value(name, value) for name, value in args.items()}

    def _edited_value(self, name: str, value: Any) -> Any:
        while True:
            answer = self.screen.ask(f"    {name} [{self.screen.brief(value)}]")
            if not answer:
                return value
            if isinstance(value, str) and not answer.startswith('"'):
                return answer
            try:
                return json.loads(answer)
            except ValueError:
                self.screen.note("    invalid JSON")

    def _in_editor(self, editor: str, args: Mapping[str, Any]) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="bathysphere-") as folder:
            path = Path(folder) / "arguments.json"
            path.write_text(json.dumps(args, indent=2, ensure_ascii=False), encoding="utf-8")
            while True:
                open_in(editor, path)
                try:
                    edited = json.loads(path.read_text(encoding="utf-8"))
                except ValueError as error:
                    self.screen.ask(f"    invalid JSON ({error}); press Enter to edit again")
                    continue
                if isinstance(edited, dict):
                    return edited
                self.screen.ask("    expected a JSON object; press Enter to edit again")

    # ── other questions ──

    def _clarification(self, value: Mapping[str, Any], asked_by: str) -> dict[str, Any]:
        by = f"{asked_by} asks: " if asked_by != MAIN else ""
        self.screen.heading(f"{by}{value.get('question', '')}")
        options = list(value.get("options") or ())
        if not options:
            return {"response": self._ask_required("  your answer")}
        self.screen.block([(f"{n}  {o['label']}", "") for n, o in enumerate(options, 1)])
        several = bool(value.get("allow_multiple"))
        freeform = bool(value.get("allow_freeform"))
        prompt = "numbers, separated by commas" if several else "a number"
        prompt = f"  {prompt}, or your own answer" if freeform else f"  {prompt}"
        while True:
            answer = self._ask_required(prompt)
            chosen = _chosen_ids(answer, options)
            if chosen and (several or len(chosen) == 1):
                return {"selected": chosen}
            if freeform and not chosen:
                return {"selected": [], "freeform": answer}
            self.screen.note(f"    choose from 1 to {len(options)}")

    def _json(self, value: Any, asked_by: str) -> Any:
        by = asked_by if asked_by != MAIN else "the agent"
        self.screen.heading(f"{by} needs an answer:")
        text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
        self.screen.block([(line, "") for line in text.splitlines()])
        while True:
            answer = self._ask_required("  your answer, as JSON")
            try:
                return json.loads(answer)
            except ValueError:
                self.screen.note('    invalid JSON (put text in quotes: "yes")')

    def _ask_required(self, prompt: str) -> str:
        while True:
            answer = self.screen.ask(prompt).strip()
            if answer:
                return answer


OUTCOMES = {
    "approve": "approved",
    "edit": "approved with your changes",
    "reject": "rejected",
    "respond": "answered by you",
}


def allowed(schema: Any) -> tuple[str, ...]:
    """Decisions allowed by the response schema; all if there is none."""
    if not isinstance(schema, Mapping):
        return DECISIONS
    parts: Iterable[Mapping[str, Any]] = (schema, *schema.get("$defs", {}).values())
    named = {part.get("properties", {}).get("type", {}).get("const") for part in parts}
    return tuple(decision for decision in DECISIONS if decision in named) or DECISIONS


def offers(schema: Any, name: str) -> bool:
    """Whether an approval can say more, such as that it holds for the rest of the conversation."""
    parts = schema.get("$defs", {}).values() if isinstance(schema, Mapping) else ()
    return any(name in part.get("properties", {}) for part in parts)


def call_lines(name: str, args: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Format a call for approval: an edit as a diff, other calls with all arguments."""
    if name != "edit_file" or not {"old_string", "new_string"} <= args.keys():
        return args_lines(args)
    every = "   (everywhere in the file)" if args.get("replace_all") else ""
    lines = [(f"{args.get('file_path', '')}{every}", "bold")]
    old, new = str(args["old_string"]).splitlines(), str(args["new_string"]).splitlines()
    styles = {"-": "red", "+": "green"}
    for line in difflib.ndiff(old, new):
        if not line.startswith("?"):
            lines.append((line, styles.get(line[0], "dim")))
    return lines


def _chosen_ids(answer: str, options: list[Mapping[str, Any]]) -> list[Any]:
    """Ids of the options named by number, id or label; empty if any is unknown."""
    by_name: dict[str, Any] = {}
    for number, option in enumerate(options, 1):
        by_name |= {
            str(option["label"]).lower(): option["id"],
            str(option["id"]).lower(): option["id"],
        }
        by_name[str(number)] = option["id"]
    if answer.lower() in by_name:
        return [by_name[answer.lower()]]
    parts = [part.strip().lower() for part in answer.split(",")]
    return (
        list(dict.fromkeys(by_name[p] for p in parts)) if all(p in by_name for p in parts) else []
    )


def _unanswered(value: Any, kind: str | None) -> Any:
    """The standard answer when unattended, if the question allows a free-form one."""
    if kind == "clarification_request" and not value.get("options"):
        return {"response": ASSUME}
    if kind == "clarification_request" and value.get("allow_freeform"):
        return {"selected": [], "freeform": ASSUME}
    question = value.get("question") if isinstance(value, Mapping) else None
    raise CallerError(
        f"The agent needs an answer, but no one is available: {question or kind or value}",
        hint="run `bathysphere chat` without --message to answer",
    )
