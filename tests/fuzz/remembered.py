"""Notes about people: written by an agent, edited and deleted by them, looked for by others."""

import json
import secrets
from typing import Any

from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.middleware.memories import MemoriesMiddleware, with_note_approvals
from bathysphere.testing import ScriptedChatModel, calls, says

NAME = "shared.md"
"""Everybody's note has this name."""


def remembering() -> Any:
    """An agent with memory; its model writes what it is told, or repeats what it sees.

    It leaves out people's own words, which stay in their conversation.
    """
    model = ScriptedChatModel(answer=_obey)
    layers = (MemoriesMiddleware(),)
    approvals = with_note_approvals({})
    return build(
        AgentSpec(
            name="remembering", model=model, subagents=(), middleware=layers, approvals=approvals
        )
    )


def _obey(messages: list[Any]) -> Any:
    last = messages[-1]
    name, _, args = last.text.partition(" ")
    if last.type == "human" and name == "write_file":
        return calls(name, **json.loads(args))
    if last.type == "tool":
        return says("Noted.")
    seen = [m.model_dump(mode="json") for m in messages if m.type != "human"]
    return says(f"I see: {json.dumps(seen)}")


async def remember_and_forget(time: Any) -> None:
    """A note is its person's alone: before, between and after, in answers and in prompts."""
    first, second = time.two()
    for name in (first, second):
        await time.call(name, "PUT", "/memories", json={"is_on": True})
    thread = await time.thread_of(first)
    old, new = (f"{time.mark(first)}-{secrets.token_hex(4)}" for _ in range(2))
    note = {"file_path": f"/memories/{NAME}", "content": old}
    await _say(time, first, thread, f"write_file {json.dumps(note)}")
    await _expect(time, first, await time.thread_of(first), has=old)
    await _expect_nothing(time, second, [old])
    await time.call(second, "DELETE", f"/memories/{NAME}")
    await time.call(second, "PUT", f"/memories/{NAME}", json={"text": time.mark(second)})
    await _expect(time, first, await time.thread_of(first), has=old)
    await time.call(first, "PUT", f"/memories/{NAME}", json={"text": new})
    await _expect(time, first, await time.thread_of(first), has=new, lacks=old)
    await _expect_nothing(time, second, [old, new])
    await time.call(first, "DELETE", f"/memories/{NAME}")
    await _expect(time, first, await time.thread_of(first), lacks=new)
    await _expect(time, first, thread, lacks=old)  # the conversation in which it was written
    await _expect_nothing(time, second, [old, new])
    await _expect_gone(time, first, [old, new])


async def _say(time: Any, name: str, thread: str, words: str = "What do you see?") -> str:
    message = {"role": "user", "content": words}
    body = {"assistant_id": "remembering", "input": {"messages": [message]}}
    answer = await time.call(name, "POST", f"/threads/{thread}/runs/wait", json=body)
    messages = answer.json().get("messages") or [{}] if answer.is_success else [{}]
    return str(messages[-1].get("content"))


async def _expect(time: Any, name: str, thread: str, *, has: str = "", lacks: str = "") -> None:
    """What the person's notes are, and what an agent sees of them in this conversation."""
    listed = await time.call(name, "GET", "/memories")
    seen = await _say(time, name, thread)
    for where, text in (("the list", listed.text), ("a prompt", seen)):
        if has and has not in text:
            time.leak(name, f"{where} lacks the person's own note")
        if lacks and lacks in text:
            time.leak(name, f"{where} holds a note that was changed or deleted")


async def _expect_nothing(time: Any, name: str, words: list[str]) -> None:
    listed = await time.call(name, "GET", "/memories")
    seen = await _say(time, name, await time.thread_of(name))
    for where, text in (("the list", listed.text), ("a prompt", seen)):
        time.expect_absent(text, words, name, f"{where} of notes")


async def _expect_gone(time: Any, name: str, words: list[str]) -> None:
    async with time.town.services.pool.connection() as connection:
        for word in words:
            query = "SELECT 1 FROM store WHERE position(%s IN value::text) > 0"
            if await (await connection.execute(query, (word,))).fetchone():
                time.leak(name, "the store still holds a deleted note")
