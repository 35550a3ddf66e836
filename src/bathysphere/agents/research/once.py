"""A read that was done is not done again, however often its node is run.

Where the run has an effect log (`core.effects`), what a call gave is written down; a node that runs
again after a crash gets it back. A read that was begun and never finished is done again: it changes
nothing. Without a log, calls are made as they come.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from langgraph.runtime import Runtime

from bathysphere.core.canonical import digest
from bathysphere.core.effects import Done, EffectKey, EffectLog, Unknown
from bathysphere.policy.permission import Call

Result = dict[str, Any]


async def once(runtime: Runtime[Any], call: Call, act: Callable[[], Awaitable[Result]]) -> Result:
    """What the call gives, or gave when it was made before."""
    log = _log_of(runtime)
    info = runtime.execution_info
    if log is None or info is None:
        return await act()
    name = f"{call.tool}:{digest([call.step, call.input])}"
    key = EffectKey(namespace="research", task=info.task_id, call=name)
    known = await log.begin(key)
    if isinstance(known, Unknown):
        await log.forget(key)
        known = await log.begin(key)
    if isinstance(known, Done):
        return dict(known.result)
    result = await act()
    await log.finish(key, result)
    return result


def _log_of(runtime: Runtime[Any]) -> EffectLog | None:
    context = runtime.context
    if isinstance(context, Mapping):
        return context.get("effects")
    return getattr(context, "effects", None)
