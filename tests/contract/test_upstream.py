"""The slots and private methods of the agent stack that we rely on are still there."""

import ast
import importlib
import inspect
import re
from collections.abc import Callable
from typing import Any

import deepagents.graph
import pytest
from deepagents.middleware.summarization import SummarizationMiddleware

from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.middleware.compaction import TRUNCATED_TOOLS
from bathysphere.testing import ScriptedChatModel
from bathysphere.upstream import (
    CORE_SLOT,
    INNER_SLOT,
    PROMPT_CACHING_SUFFIX,
    SUBAGENTS_SLOT,
    VACATED_SLOTS,
)


def slots(create: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the layers that deepagents' factory hands to LangChain, outermost first."""
    real, seen = deepagents.graph.create_agent, []

    def record(*args: Any, middleware: Any, **rest: Any) -> Any:
        seen.append([layer.name for layer in middleware])
        return real(*args, middleware=middleware, **rest)

    with monkeypatch.context() as patched:
        patched.setattr(deepagents.graph, "create_agent", record)
        create()
    return seen[-1]  # the main agent is made after its subagents


def test_deepagents_factory_has_exactly_the_slots_that_the_harness_replaces(monkeypatch):
    model = ScriptedChatModel(script=[])
    found = slots(lambda: deepagents.graph.create_deep_agent(model), monkeypatch)
    caching = [name for name in found if name.endswith(PROMPT_CACHING_SUFFIX)]
    assert found == [CORE_SLOT, SUBAGENTS_SLOT, *VACATED_SLOTS, *caching, INNER_SLOT]


def test_the_harness_fills_every_slot_in_its_place_and_adds_none(monkeypatch):
    model = ScriptedChatModel(script=[])
    theirs = slots(lambda: deepagents.graph.create_deep_agent(model), monkeypatch)
    spec = AgentSpec(name="plain", model=model, prompt="")
    assert slots(lambda: build(spec), monkeypatch) == theirs


PRIVATE_METHODS = {
    # backends/scratch.py: a run's agents share files, each stamped with a revision.
    "deepagents.backends.state:StateBackend": ["_get_config", "_read_files", "_send_files_update"],
    # middleware/compaction.py: a summary is counted, limited and paid for like any model call.
    "deepagents.middleware.summarization:SummarizationMiddleware": [
        "_acreate_summary",
        "_create_summary",
        "_truncate_args",
    ],
    # middleware/flow/question.py: the question says why it is asked.
    "langchain.agents.middleware:HumanInTheLoopMiddleware": ["_tool_approval_request"],
    # middleware/content.py: plain text needs no filtering.
    "deepagents.middleware:UnsupportedContentMiddleware": ["_filter_message", "_filter_request"],
    # engine/checkpoints/fenced_saver.py: our own statements write upstream's rows.
    "langgraph.checkpoint.postgres.aio:AsyncPostgresSaver": ["_dump_blobs", "_dump_writes"],
    # engine/database/tenant_reads.py: rows are read as the tenant who owns them.
    "langgraph.store.postgres.aio:AsyncPostgresStore": ["_cursor"],
    # upstream.updates_of
    "langgraph.types:Command": ["_update_as_tuples"],
}


@pytest.mark.parametrize("path", PRIVATE_METHODS)
def test_a_private_method_that_we_override_or_call_still_exists(path):
    module, _, name = path.partition(":")
    cls = getattr(importlib.import_module(module), name)
    assert [method for method in PRIVATE_METHODS[path] if not hasattr(cls, method)] == []


def test_the_arguments_of_these_tools_are_shortened():
    """Compaction leaves histories without calls of them alone."""
    code = inspect.getsource(SummarizationMiddleware._truncate_args)
    found = re.search(r'tool_call\["name"\] in (\{.*?\})', code)
    assert found is not None
    assert ast.literal_eval(found[1]) == TRUNCATED_TOOLS


def test_the_first_two_migrations_of_vectors_are_the_extension_and_the_table():
    """We leave out the third, an approximate index over all owners."""
    from langgraph.store.postgres.aio import AsyncPostgresStore

    extension, table, index = (each.sql for each in AsyncPostgresStore.VECTOR_MIGRATIONS)
    assert "CREATE EXTENSION vector" in extension
    assert "CREATE TABLE IF NOT EXISTS store_vectors" in table
    assert "CREATE INDEX" in index
