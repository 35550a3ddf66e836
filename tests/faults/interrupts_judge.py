"""Judge whether a person's answers and messages reached the right agents, exactly once."""

import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from interrupts_agent import TOKEN, World
from interrupts_person import Answer, Question
from interrupts_plans import Schedule


@dataclass(kw_only=True)
class Story:
    """The history of one thread from the person's side."""

    asked: list[Question] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    taken: dict[str, list[Answer]] = field(default_factory=lambda: defaultdict(list))
    refused: set[str] = field(default_factory=set)
    asked_again: list[str] = field(default_factory=list)
    wrongly_taken: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    was_stopped: bool = False
    taken_back: set[str] = field(default_factory=set)
    """Questions whose answers the person cancelled; they may be open again, or not."""
    wedged: str = ""

    def meet(self, question: Question) -> bool:
        """Record an open question; return whether it is new."""
        if question["id"] in self.taken:
            self.asked_again.append(question["id"])
        if any(known["id"] == question["id"] for known in self.asked):
            return False
        self.asked.append(question)
        return True

    def take(self, answer: Answer) -> None:
        """Record that the server accepted the answer."""
        self.taken[answer.question].append(answer)

    def refuse(self, answer: Answer) -> None:
        """Record that the server refused the answer: it must not appear anywhere."""
        self.refused.add(answer.token)


@dataclass(kw_only=True)
class Tally:
    """The results of the campaign so far."""

    schedules: int = 0
    lost: int = 0
    wedged: int = 0
    misdelivered: int = 0
    doubled: int = 0
    failed: int = 0
    dangling: int = 0
    wrongly_taken: int = 0
    questions: int = 0
    answers_taken: int = 0
    answers_repeated: int = 0
    answers_refused: int = 0
    messages: int = 0
    told_of_stopped: int = 0
    seconds: int = 0

    def count(self, told: dict[str, Any], taken: set[str]) -> None:
        """Count one command with answers."""
        self.answers_taken += len(taken)
        self.answers_refused += told["type"] == "error"
        self.answers_repeated += told["type"] == "success" and not taken

    @property
    def wrong(self) -> int:
        """The total number of failures."""
        told = (self.lost, self.wedged, self.misdelivered, self.doubled, self.failed)
        return sum(told) + self.dangling + self.wrongly_taken

    @property
    def is_good(self) -> bool:
        return not self.wrong

    def line(self) -> dict[str, Any]:
        return dict(vars(self))


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def judge(tally: Tally, schedule: Schedule, story: Story, world: World) -> None:
    """Count the failures on one thread."""
    tally.schedules += 1
    tally.questions += len(story.asked)
    tally.messages += len(story.said)
    faults: Counter[str] = Counter()
    faults["wedged"] += bool(story.wedged)
    faults["failed"] += len(story.failed)
    faults["wrongly_taken"] += len(story.wrongly_taken)
    notes: list[str] = [story.wedged] if story.wedged else []
    notes += story.failed + [f"taken: {name}" for name in story.wrongly_taken]
    _judge_places(world.calls_of(schedule.key), story, world, faults, notes)
    if not story.wedged:
        _judge_answers(schedule, story, world, faults, notes, tally)
        _judge_messages(schedule, story, world, faults, notes)
    _judge_bodies(schedule, story, world, faults, notes)
    for name, number in faults.items():
        setattr(tally, name, getattr(tally, name) + number)
    if faults.total():
        say(f"WRONG schedule {schedule.number} {[a.kind for a in schedule.actions]}:")
        for note in notes[:8]:
            say(f"  {note[:600]}")


def _judge_places(
    calls: list[str], story: Story, world: World, faults: Counter[str], notes: list[str]
) -> None:
    """Tokens appear only in the result of their call, or of the call that started their agent."""
    for call in calls:
        found = [m for text in world.results[call] for m in TOKEN.finditer(text)]
        tokens = {m.group(0): m.group(1) for m in found}
        for token, owner in tokens.items():
            if owner != call and not owner.startswith(f"{call}."):
                faults["misdelivered"] += 1
                notes.append(f"{token} was seen with {call}")
            elif owner != call and token.endswith("#own>"):
                continue  # a stopped subagent's calls are reported, whatever was decided
            elif token in story.refused and not _was_taken(story, token):
                faults["misdelivered"] += 1
                notes.append(f"{token} was refused, and seen")


def _was_taken(story: Story, token: str) -> bool:
    return any(a.token == token for answers in story.taken.values() for a in answers)


def _judge_answers(
    schedule: Schedule,
    story: Story,
    world: World,
    faults: Counter[str],
    notes: list[str],
    tally: Tally,
) -> None:
    """Every accepted answer is seen by a model, and no second one to the same question."""
    for question, answers in story.taken.items():
        if len(answers) > 1 and question not in story.asked_again:
            faults["doubled"] += 1
            notes.append(f"taken {len(answers)} times: {[a.token for a in answers]}")
        seen = [a for a in answers if _is_seen(a, world, tally)]
        if not seen and question not in story.taken_back:
            faults["lost"] += 1
            notes.append(f"never seen: {answers}; results {world.results.get(answers[0].call)}")
    if story.asked_again and not story.was_stopped:
        faults["lost"] += len(story.asked_again)
        notes.append(f"asked again: {story.asked_again}")


def _is_seen(answer: Answer, world: World, tally: Tally) -> bool:
    if any(answer.token in text for text in world.results.get(answer.call, ())):
        return True
    # The agent that asked was stopped: the agent that started it gets the answer.
    sender = answer.call.rsplit(".", 2)[0]
    told = any(answer.token in text for text in world.results.get(sender, ()))
    tally.told_of_stopped += told
    return told


def _judge_messages(
    schedule: Schedule, story: Story, world: World, faults: Counter[str], notes: list[str]
) -> None:
    """The person's messages are seen in order."""
    heard = [text for text in world.heard[schedule.key] if text in story.said]
    # A message that was cancelled before its turn is never seen.
    wanted = story.said if not story.was_stopped else heard
    if heard != wanted or heard[-1:] != [f"{schedule.key}.ping"]:
        faults["lost"] += 1
        notes.append(f"said {story.said}, heard {heard}")


def _judge_bodies(
    schedule: Schedule, story: Story, world: World, faults: Counter[str], notes: list[str]
) -> None:
    """A gated tool runs once per approval, and never without one."""
    allowed = {a.call for answers in story.taken.values() for a in answers if a.runs_body}
    bodies = world.bodies_of(schedule.key)
    for call, times in bodies.items():
        if times > (call in allowed):
            faults["doubled"] += times - (call in allowed)
            notes.append(f"{call} ran {times} times")
    if story.wedged or story.was_stopped:
        return
    for call in sorted(allowed - bodies.keys()):
        faults["lost"] += 1
        notes.append(f"{call} was approved and never ran")
