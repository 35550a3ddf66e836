"""Every backend here keeps one contract; what deepagents' own do not keep is listed in the docs."""

import inspect
import re
import secrets
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import FilesystemBackend, StateBackend, StoreBackend
from deepagents.backends.protocol import BackendProtocol
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import START, StateGraph
from langgraph.store.memory import InMemoryStore

from bathysphere.backends.conditional import Expectation
from bathysphere.backends.object_store import (
    BucketConfig,
    ObjectStoreBackend,
    open_bucket,
)
from bathysphere.backends.scratch import ScratchBackend
from bathysphere.middleware.files import FilesState
from bathysphere.tenancy.root import Root
from bathysphere.testing.backend_contract import BackendContract, SharedBackendContract

pytestmark = pytest.mark.timeout(180)
PATIENCE = 90.0
"""Seconds for an edit to get its turn: a busy machine is slow, not wrong."""


class ObjectStoreContract(SharedBackendContract):
    config: BucketConfig

    def on(self, config: BucketConfig) -> BackendProtocol:
        self.config = config
        self.root = Root(tenant="company-1", workspace=f"ws{secrets.token_hex(6)}")
        return ObjectStoreBackend(open_bucket(config), self.root, edit_seconds=PATIENCE)

    def another(self, backend: BackendProtocol) -> BackendProtocol:
        return ObjectStoreBackend(open_bucket(self.config), self.root, edit_seconds=PATIENCE)

    def test_an_approved_delete_removes_exactly_the_file_that_was_shown(self, backend) -> None:
        """Also where others made a folder of the same name: a bucket lets them."""
        backend.write("/reports", "scratch note")
        token, _ = backend.seen("/reports")
        if self.config.kind not in ("local",):  # a disk has either a file or a folder
            for name in ("q1.md", "deep/q2.md"):
                backend._objects.put(f"{self.root.prefix}/reports/{name}", b"kept")
            error = backend.delete("/reports").error  # which of the two?
            assert "file_and_folder" in error
        assert backend.delete("/reports", expect=Expectation(token)).error is None
        assert backend.seen("/reports") is None
        left = [m["path"] for m in backend.glob("**/*").matches]
        expected = [] if self.config.kind == "local" else ["/reports/deep/q2.md", "/reports/q1.md"]
        assert sorted(left) == expected

    def test_an_approved_delete_of_a_folder_removes_exactly_what_was_listed(self, backend) -> None:
        """A file that came or changed since is not taken; one that went is no obstacle."""
        for path in ("/reports/q1.md", "/reports/deep/q2.md", "/reports2/q3.md"):
            backend.write(path, "x")
        shown = {path: meta.version.token for path, meta in backend.seen_below("/reports").items()}
        assert set(shown) == {"/reports/q1.md", "/reports/deep/q2.md"}
        for change in (
            lambda: backend.write("/reports/new.md", "y"),
            lambda: (backend.delete("/reports/new.md"), backend.write("/reports/q1.md", "other")),
        ):
            change()
            before = {m["path"] for m in backend.glob("**/*").matches}
            expect = Expectation("folder", shown)
            assert "changed since" in backend.delete("/reports", expect=expect).error
            assert expect.was_refused
            assert {m["path"] for m in backend.glob("**/*").matches} == before
        shown = {path: meta.version.token for path, meta in backend.seen_below("/reports").items()}
        backend.delete("/reports/deep/q2.md")  # as if it had stopped half way
        assert backend.delete("/reports", expect=Expectation("folder", shown)).error is None
        assert [m["path"] for m in backend.glob("**/*").matches] == ["/reports2/q3.md"]


class TestMemory(ObjectStoreContract):
    @pytest.fixture
    def backend(self) -> BackendProtocol:
        return self.on(BucketConfig(kind="memory"))

    def another(self, backend: BackendProtocol) -> BackendProtocol:
        return ObjectStoreBackend(backend._objects, self.root, edit_seconds=PATIENCE)


class TestLocal(ObjectStoreContract):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> BackendProtocol:
        return self.on(BucketConfig(kind="local", folder=tmp_path / "bucket"))


class TestGcs(ObjectStoreContract):
    @pytest.fixture
    def backend(self, gcs_server) -> BackendProtocol:
        return self.on(gcs_server.config)


class TestS3(ObjectStoreContract):
    @pytest.fixture
    def backend(self, seaweed_server) -> BackendProtocol:
        return self.on(seaweed_server.config)


class TestAzure(ObjectStoreContract):
    @pytest.fixture
    def backend(self, azurite_server) -> BackendProtocol:
        return self.on(azurite_server.config)


# ── a backend that lives in graph state ──


class InAGraph:
    """Calls each method of a backend inside a run of a graph, on one thread."""

    def __init__(self, backend: BackendProtocol) -> None:
        self._backend = backend
        self._config = {"configurable": {"thread_id": "one"}}
        self._graphs = []
        for node in (self._node, self._anode):
            builder = StateGraph(FilesState)
            builder.add_node("call", node)
            builder.add_edge(START, "call")
            self._graphs.append(builder)
        saver = MemorySaver()
        self._graph, self._agraph = [b.compile(checkpointer=saver) for b in self._graphs]

    def _node(self, state: Any) -> dict[str, Any]:
        self._result = self._call()
        return {}

    async def _anode(self, state: Any) -> dict[str, Any]:
        self._result = await self._call()
        return {}

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._backend, name)

        def run(*args: Any, **kwargs: Any) -> Any:
            self._call = lambda: method(*args, **kwargs)
            self._graph.invoke({"messages": []}, self._config)
            return self._result

        async def arun(*args: Any, **kwargs: Any) -> Any:
            self._call = lambda: method(*args, **kwargs)
            await self._agraph.ainvoke({"messages": []}, self._config)
            return self._result

        return arun if inspect.iscoroutinefunction(method) else run


class TestScratch(BackendContract):
    @pytest.fixture
    def backend(self) -> Any:
        return InAGraph(ScratchBackend())


# ── deepagents' own, as the reference ──

DOCUMENT = Path(__file__).parents[2] / "docs" / "object-store.md"
REFERENCES = {
    "FilesystemBackend": lambda folder: FilesystemBackend(root_dir=folder, virtual_mode=True),
    "StateBackend": lambda folder: InAGraph(StateBackend()),
    "StoreBackend": lambda folder: StoreBackend(
        store=InMemoryStore(), namespace=lambda runtime: ("files",)
    ),
}
BEHAVIOURS = {n: t for n, t in inspect.getmembers(BackendContract) if n.startswith("test_")}


async def fails(behaviour: Any, backend: BackendProtocol) -> bool:
    try:
        done = behaviour(BackendContract(), backend)
        if inspect.isawaitable(done):
            await done
    except Exception:  # noqa: BLE001  # whatever it raises is a behaviour it does not have
        return True
    return False


@pytest.mark.parametrize("name", REFERENCES)
async def test_what_deepagents_own_backends_do_not_keep_is_listed(name, tmp_path):
    broken = set()
    for number, (behaviour, test) in enumerate(BEHAVIOURS.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        if await fails(test, REFERENCES[name](folder)):
            broken.add(behaviour.removeprefix("test_"))
    rows = re.findall(r"^\| `(\w+)` \|([^|]*)\|$", DOCUMENT.read_text(encoding="utf-8"), re.M)
    listed = {behaviour for behaviour, backends in rows if name in backends}
    assert broken == listed
