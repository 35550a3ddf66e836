"""Asking the person: one question for each interrupt, whatever its type.

`tool_approval` shows the call and takes approve, edit, reject or respond; `plan_approval` shows the
plan with its audit; `clarification_request` takes an answer or a choice; `tool` is done by the
person's device, which asks them before it writes; any other type is shown as JSON and answered in
JSON.
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
from bathysphere.cli.talk.editor import chosen_editor, open_in
from bathysphere.cli.talk.events import MAIN
from bathysphere.cli.talk.screen import Screen, args_lines, choose
from bathysphere.core.errors import CallerError
from bathysphere.device.device import Device
from bathysphere.device.documents import NoDocuments

Approve = Literal["ask", "all", "none"]
DECISIONS = ("approve", "edit", "reject", "respond")
NOBODY = "Nobody was there to approve it."
ASSUME = "Nobody is there to answer. State your assumption and go on."


@dataclass(frozen=True, kw_only=True, slots=True)
class Answers:
    """Gets the answer to an interrupt, from the person or by the rule that was given."""

    screen: Screen
    approve: Approve = "ask"
    alone: bool = False
    """Nobody is there: approvals are answered by the rule, open questions by saying so."""
    device: Device = field(default_factory=lambda: Device(NoDocuments()))
    """What the person's documents are on."""

    def to(self, interrupt: Interrupt, asked_by: str) -> Any:
        """Ask until there is an answer.

        Raises:
            CallerError: If nobody is there to ask.
        """
        value = interrupt.value
        kind = value.get("type") if isinstance(value, Mapping) else None
        if kind == "tool_approval":
            return self._approval(value, interrupt, asked_by)
        if kind == "tool":
            return self.device.run(value["tool_call"])
        if kind == "plan_approval":
            return self._plan(value, interrupt)
        if self.alone:
            return _unanswered(value, kind)
        if kind == "clarification_request":
            return self._clarification(value, asked_by)
        return self._json(value, asked_by)

    # ── approvals ──

    def _approval(self, value: Mapping[str, Any], interrupt: Interrupt, asked_by: str) -> Any:
        by = f", for {asked_by}" if asked_by != MAIN else ""
        self.screen.heading(f"{value['name']} needs your approval{by}")
        self.screen.block(call_lines(value["name"], value["args"]))
        decision = self._by_rule() or self._decision(allowed(interrupt.response_schema), value)
        self.screen.note(f"    {SAID[decision['type']]}")
        return decision

    def _plan(self, value: Mapping[str, Any], interrupt: Interrupt) -> dict[str, Any]:
        plans.show(self.screen, value)
        choices = allowed(interrupt.response_schema)
        if self.approve == "all" and "approve" in choices:
            self.screen.note("    approved")
            return {"type": "approve", "plan_hash": value["plan_hash"]}
        if self.alone or self.approve != "ask":
            raise CallerError(NOBODY, hint="pass --approve all, or answer in a terminal")
        match choose(self.screen, choices):
            case "edit":
                return {"type": "edit", "plan": plans.edited(self.screen, value["plan"])}
            case "reject":
                return {"type": "reject", "reason": self._something("    why not")}
        return {"type": "approve", "plan_hash": value["plan_hash"]}

    def _by_rule(self) -> dict[str, Any] | None:
        if self.approve == "all":
            return {"type": "approve"}
        return {"type": "reject", "message": NOBODY} if self.approve == "none" else None

    def _decision(self, choices: tuple[str, ...], value: Mapping[str, Any]) -> dict[str, Any]:
        match choose(self.screen, choices):
            case "edit":
                args = self._edited(value["args"])
                return {"type": "edit", "edited_action": {"name": value["name"], "args": args}}
            case "reject":
                reason = self.screen.ask("    why not (may be empty)").strip()
                return {"type": "reject", "message": reason} if reason else {"type": "reject"}
            case "respond":
                return {"type": "respond", "message": self.screen.ask("    answer in its place")}
        return {"type": "approve"}

    def _edited(self, args: Mapping[str, Any]) -> dict[str, Any]:
        editor = chosen_editor()
        if editor:
            return self._in_editor(editor, args)
        self.screen.note("    Enter keeps a value; text with new lines goes in as JSON")
        return {name: self._edited_value(name, value) for name, value in args.items()}

    def _edited_value(self, name: str, value: Any) -> Any:
        while True:
            said = self.screen.ask(f"    {name} [{self.screen.brief(value)}]")
            if not said:
                return value
            if isinstance(value, str) and not said.startswith('"'):
                return said
            try:
                return json.loads(said)
            except ValueError:
                self.screen.note("    that is not JSON")

    def _in_editor(self, editor: str, args: Mapping[str, Any]) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="bathysphere-") as folder:
            path = Path(folder) / "arguments.json"
            path.write_text(json.dumps(args, indent=2, ensure_ascii=False), encoding="utf-8")
            while True:
                open_in(editor, path)
                try:
                    edited = json.loads(path.read_text(encoding="utf-8"))
                except ValueError as error:
                    self.screen.ask(f"    that is not JSON ({error}); Enter opens it again")
                    continue
                if isinstance(edited, dict):
                    return edited
                self.screen.ask("    the arguments are a JSON object; Enter opens it again")

    # ── other questions ──

    def _clarification(self, value: Mapping[str, Any], asked_by: str) -> dict[str, Any]:
        by = f"{asked_by} asks: " if asked_by != MAIN else ""
        self.screen.heading(f"{by}{value.get('question', '')}")
        options = list(value.get("options") or ())
        if not options:
            return {"response": self._something("  your answer")}
        self.screen.block([(f"{n}  {o['label']}", "") for n, o in enumerate(options, 1)])
        several = bool(value.get("allow_multiple"))
        freeform = bool(value.get("allow_freeform"))
        prompt = "numbers, with commas" if several else "a number"
        prompt = f"  {prompt}, or an answer of your own" if freeform else f"  {prompt}"
        while True:
            said = self._something(prompt)
            chosen = _chosen(said, options)
            if chosen and (several or len(chosen) == 1):
                return {"selected": chosen}
            if freeform and not chosen:
                return {"selected": [], "freeform": said}
            self.screen.note(f"    choose from 1 to {len(options)}")

    def _json(self, value: Any, asked_by: str) -> Any:
        by = asked_by if asked_by != MAIN else "the agent"
        self.screen.heading(f"{by} waits for an answer:")
        text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
        self.screen.block([(line, "") for line in text.splitlines()])
        while True:
            said = self._something("  your answer, as JSON")
            try:
                return json.loads(said)
            except ValueError:
                self.screen.note('    that is not JSON (text goes in quotes: "yes")')

    def _something(self, prompt: str) -> str:
        while True:
            said = self.screen.ask(prompt).strip()
            if said:
                return said


SAID = {
    "approve": "approved",
    "edit": "approved with your changes",
    "reject": "rejected",
    "respond": "answered by you",
}


def allowed(schema: Any) -> tuple[str, ...]:
    """The decisions that an approval's answer may be, by its schema; all where it has none."""
    if not isinstance(schema, Mapping):
        return DECISIONS
    parts: Iterable[Mapping[str, Any]] = (schema, *schema.get("$defs", {}).values())
    named = {part.get("properties", {}).get("type", {}).get("const") for part in parts}
    return tuple(decision for decision in DECISIONS if decision in named) or DECISIONS


def call_lines(name: str, args: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A call as the person should see it before saying yes: an edit as a diff, else all of it."""
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


def _chosen(said: str, options: list[Mapping[str, Any]]) -> list[Any]:
    """The ids of the options that were named by number, id or label; none if one is unknown."""
    by_name: dict[str, Any] = {}
    for number, option in enumerate(options, 1):
        by_name |= {
            str(option["label"]).lower(): option["id"],
            str(option["id"]).lower(): option["id"],
        }
        by_name[str(number)] = option["id"]
    if said.lower() in by_name:
        return [by_name[said.lower()]]
    parts = [part.strip().lower() for part in said.split(",")]
    return (
        list(dict.fromkeys(by_name[p] for p in parts)) if all(p in by_name for p in parts) else []
    )


def _unanswered(value: Any, kind: str | None) -> Any:
    """What an agent is told that asks while nobody is there, if the question leaves room for it."""
    if kind == "clarification_request" and not value.get("options"):
        return {"response": ASSUME}
    if kind == "clarification_request" and value.get("allow_freeform"):
        return {"selected": [], "freeform": ASSUME}
    question = value.get("question") if isinstance(value, Mapping) else None
    raise CallerError(
        f"the agent asks and nobody is there to answer: {question or kind or value}",
        hint="talk to it: run `bathysphere chat` without --message",
    )
