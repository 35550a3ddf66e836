"""The person's texts that no search may repeat: attachments of this and earlier questions."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from bathysphere.agents.research.attachments import Attachments
from bathysphere.agents.research.dependencies import Dependencies, thread_snapshots
from bathysphere.core.canonical import sha256


async def private_texts(
    deps: Dependencies, state: Mapping[str, Any], runtime: Runtime[Any]
) -> list[str]:
    """The texts attached to this question, and those kept as sources from earlier ones.

    Raises:
        SourceChanged: A stored source was modified.
    """
    attached = Attachments.of(state).private_texts()
    known = {sha256(text.encode("utf-8", "replace")) for text in attached}
    taken_over = [
        source["id"]
        for source in state.get("sources") or ()
        if source["origin"] == "client" and source["text_sha256"] not in known
    ]
    if not taken_over:
        return attached
    stored = thread_snapshots(deps, runtime)
    return [*attached, *[(await stored.get(one)).text for one in taken_over]]
