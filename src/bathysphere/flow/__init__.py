"""Flow control: what an agent read may inform what it says, but cannot steer what it does.

Once anything untrusted was read, a call that changes or sends something runs unasked only if it
matches a step that was planned from the person's words, and each of its sensitive arguments is
vouched for. Nothing is trusted because it was not found in something untrusted. Plain Python; no
framework, no network, no LLM. The public names, by module:

- `declarations`: `flow(...)` declares what a tool does (`ToolFlow`), `Lookup`, `FlowPolicy`
- `kinds`: `Kind`, the kinds of arguments
- `plan`: `Step`, `read_steps(data)`
- `ledger`: `Ledger`, `merge`, and the entries that are added to it
- `judge`: `judge(call, ledger, policy, run=…)` → `Verdict` with `reasons`
- `values`, `addresses`, `records`: equality, addresses in texts, records in results
- `answers`: which links of an answer nobody put together
- `provenance`: where a value was read, searched only for a question
- `sentences`: reasons in words, for the person
"""

from bathysphere.flow.declarations import FlowPolicy, Lookup, ToolFlow, flow
from bathysphere.flow.judge import Call, Reason, Verdict, judge
from bathysphere.flow.kinds import Kind
from bathysphere.flow.ledger import Ledger, merge
from bathysphere.flow.plan import Step, read_steps

__all__ = [
    "Call",
    "FlowPolicy",
    "Kind",
    "Ledger",
    "Lookup",
    "Reason",
    "Step",
    "ToolFlow",
    "Verdict",
    "flow",
    "judge",
    "merge",
    "read_steps",
]
