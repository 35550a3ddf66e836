"""Policy as code: rules decide what a plan may do; the approved plan is the permission.

Plain Python; no framework, no network, no LLM. The public names, by module:

- `plan`: `Plan` (`.sha256`, `.plain()`, `.step(id)`), `Step`, `waves`; the tools' names
  `WEB_SEARCH`, `FETCH_PAGE`, `SEARCH_CORPUS`, `READ_CONTEXT`
- `rules`: `Policy`, `read_policy(text)`, `default_policy()`
- `file`: `read_policy_file(path, hint=…)`, `local_policy_file()`; `errors`: `BadPolicy`
- `document`, `prose`: the blocks of rules and the sentences of a POLICY.md
- `outline`: what was understood of a policy, as lines
- `audit`: `audit(plan, policy, question=…, private=…)` → `Verdict` with `violations`,
  `suggestions` and `open` questions; `judge(verdict, [Judgement])` → `Verdict`
- `permission`: `Approval`, `permit(plan, approvals, policy)` → `Permission`; before each call
  `permission.ask(Call(step, tool, input))` → `Grant` or `Difference`; after a search
  `permission.found(step, addresses)`; on a redirect `permission.may_visit(step, address)`;
  `plan.grown(steps)` → the plan to audit and approve again; `Used` is what to keep
- `domains`: `host_of`, `covers`
"""
