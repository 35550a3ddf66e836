"""Claims on steps, shared by the agents of a run.

Two subagents that work at once have separate ledgers, and each would see a step of the plan as
free. While they work in one process they share their claims here. The main agent's ledger has all
of them whenever its model is called; a process that has not seen that call (it took the run over)
knows too little, and then no subagent may use a step unasked.
"""

import threading
from collections.abc import Sequence

from bathysphere.core.live import RecentRuns
from bathysphere.flow import Call, FlowPolicy, Ledger, Verdict, judge, ledger, merge
from bathysphere.flow.ledger import Entries


class Claims:
    """The claims of one run."""

    def __init__(self, run: str) -> None:
        self.run = run
        self._lock = threading.Lock()
        self._entries: Entries = {}
        self._is_complete = False

    def decide(
        self, calls: Sequence[Call], entries: Entries, policy: FlowPolicy, *, is_main: bool
    ) -> tuple[list[Verdict], Entries]:
        """Judge the calls of a turn in order; also the claims that they make."""
        with self._lock:
            if is_main:
                self._is_complete = True
            self._learn(entries)
            verdicts, made = [], Entries()
            for call in calls:
                # As `merge` would return it: what the ledger has of these is already learned.
                known = {**entries, **self._entries}
                verdict = self._judged(call, known, policy, is_main)
                verdicts.append(verdict)
                if verdict.step is not None:
                    claim = ledger.claimed(self.run, verdict.step, call.key)
                    made, self._entries = merge(made, claim), merge(self._entries, claim)
            return verdicts, made

    def explain(self, call: Call, entries: Entries, policy: FlowPolicy) -> Verdict:
        """Judge a call again, for the question about it."""
        with self._lock:
            known = Ledger(merge(entries, self._entries))
        return judge(call, known, policy, run=self.run, is_tainted=True)

    def _learn(self, entries: Entries) -> None:
        for name in ("claims", "released"):
            if name in entries:
                self._entries = merge(self._entries, {name: entries[name]})

    def _judged(self, call: Call, entries: Entries, policy: FlowPolicy, is_main: bool) -> Verdict:
        known = Ledger(entries)
        is_tainted = not is_main and not known.words  # a graph that was given no ledger
        found = judge(call, known, policy, run=self.run, is_tainted=is_tainted)
        is_free = not (is_tainted or known.has("untrusted"))
        if is_main or self._is_complete or is_free or found.step is None:
            return found
        many = {step.id for step in known.steps(self.run) if step.many}
        # Another subagent may have used the step: judge as if there were no plan.
        return found if found.step in many else judge(call, known, policy, run="", is_tainted=True)


claims: RecentRuns[Claims] = RecentRuns(Claims)
