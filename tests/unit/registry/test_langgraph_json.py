"""`langgraph.json`: what is honoured, and that nothing is ignored in silence."""

import json
from pathlib import Path

import pytest

from bathysphere.registry.errors import LoadError
from bathysphere.registry.langgraph_json import IMAGE_KEYS, read_project
from bathysphere.registry.project_sections import Expiry
from bathysphere.registry.selection import Selection

ROOT = Path(__file__).parents[3]
GRAPHS = {"helper": "my.agents:graph"}


def read(folder: Path, text: str | None = None, **keys):
    file = folder / "langgraph.json"
    file.write_text(text if text is not None else json.dumps({"graphs": GRAPHS, **keys}))
    return read_project(file)


def test_a_whole_project(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "agents.py").touch()
    (tmp_path / "dev.env").write_text("NAME=value\n")
    graphs = {"a": "./agents.py:graph", "b": {"path": "my.agents:b", "description": "Helps"}}
    project = read(
        tmp_path, graphs=graphs, dependencies=[".", "./src", "pydantic>=2"], env="dev.env"
    )
    first, second = project.graphs
    assert (first.target.name, first.target.file) == ("a", tmp_path / "agents.py")
    assert (second.target.module, second.description) == ("my.agents", "Helps")
    assert project.paths == (tmp_path, tmp_path / "src")
    assert (project.env, project.env_file) == ({"NAME": "value"}, tmp_path / "dev.env")


def test_routes_of_a_project(tmp_path):
    (tmp_path / "routes.py").touch()
    http = {"app": "./routes.py:app", "enable_custom_route_auth": True}
    project = read(tmp_path, http=http)
    assert project.http_app.file == tmp_path / "routes.py"
    with pytest.raises(LoadError, match=r"Two projects set 'http\.app'"):
        Selection(projects=(project, project)).http_app()


def test_authentication_index_and_expiry_of_a_project(tmp_path):
    (tmp_path / "own.py").touch()
    project = read(
        tmp_path,
        auth={"path": "./own.py:auth", "disable_studio_auth": True},
        store={
            "index": {"dims": 3, "embed": "./own.py:embed", "fields": ["text"]},
            "ttl": {"default_ttl": 60, "refresh_on_read": False, "sweep_interval_minutes": 1},
        },
        checkpointer={"ttl": {"strategy": "delete", "default_ttl": 43200}},
    )
    assert project.auth.file == tmp_path / "own.py"
    assert project.store_index.embed.attribute == "embed"
    assert (project.store_index.dims, project.store_index.fields) == (3, ("text",))
    assert project.store_ttl == Expiry(minutes=60, sweep_minutes=1, refreshes_on_read=False)
    assert project.thread_ttl == Expiry(minutes=43200)
    with pytest.raises(LoadError, match=r"Two projects set 'auth\.path'"):
        Selection(projects=(project, project)).auth()


def test_an_embedding_of_a_provider_is_not_a_file(tmp_path):
    project = read(tmp_path, store={"index": {"dims": 3, "embed": "openai:text-embedding-3-small"}})
    assert project.store_index.embed == "openai:text-embedding-3-small"


def test_variables_may_be_in_the_file_itself(tmp_path):
    assert read(tmp_path, env={"NAME": "value"}).env == {"NAME": "value"}


def test_a_missing_env_file_of_the_usual_name_is_no_error(tmp_path):
    assert read(tmp_path, env=".env").env == {}


def test_our_own_is_valid():
    project = read_project(ROOT / "langgraph.json")
    assert all(entry.target.is_built_in for entry in project.graphs)


def test_keys_of_a_container_image_are_listed(tmp_path):
    project = read(tmp_path, **dict.fromkeys(IMAGE_KEYS, "x"))
    assert project.image_keys == tuple(sorted(IMAGE_KEYS))


@pytest.mark.parametrize(
    "keys",
    [{"http": {"disable_mcp": False}}, {"store": {}}, {"checkpointer": None}, {"ui": {}}],
)
def test_what_is_switched_off_is_accepted(tmp_path, keys):
    assert read(tmp_path, **keys).graphs


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"grahps": {}}, "'grahps'"),
        ({"graphs": {}}, "'graphs'"),
        ({"graphs": {"a": 5}}, "'graphs.a'"),
        ({"graphs": {"a/b": "x:y"}}, "'a/b'"),
        ({"graphs": {"a": "nothing"}}, "'graphs.a'"),
        ({"graphs": {"a": "./nothing.py:graph"}}, "'graphs.a'"),
        ({"graphs": {"a": "./agents.ts:graph"}}, "'graphs.a'"),
        ({"graphs": {"a": {"path": "x:y", "nmae": "b"}}}, "'graphs.a.nmae'"),
        ({"graphs": {"a": {"path": "x:y", "description": 5}}}, "'graphs.a.description'"),
        ({"dependencies": "."}, "'dependencies'"),
        ({"dependencies": ["./nothing"]}, "./nothing"),
        ({"dependencies": ["a-package-that-is-not-there"]}, "a-package-that-is-not-there"),
        ({"env": ["A"]}, "'env'"),
        ({"env": "other.env"}, "other.env"),
        ({"env": {"A": 1}}, "'env'"),
        ({"auth": {"path": "./nothing.py:auth"}}, "'auth.path'"),
        ({"auth": {"path": "x:y", "cache": {"ttl_seconds": 1}}}, "'auth.cache'"),
        ({"store": {"index": 5}}, "'store.index'"),
        ({"store": {"index": {"dims": 3}}}, "'store.index.embed'"),
        ({"store": {"index": {"dims": 0, "embed": "a:b"}}}, "'store.index.dims'"),
        ({"store": {"index": {"dims": 3, "embed": "./no.py:f"}}}, "'store.index.embed'"),
        ({"store": {"index": {"dims": 3, "embed": "a:b", "fields": "x"}}}, "'store.index.fields'"),
        ({"store": {"index": {"dims": 3, "embed": "a:b", "kind": "x"}}}, "'store.index.kind'"),
        ({"store": {"ttl": 5}}, "'store.ttl'"),
        ({"store": {"ttl": {"default_ttl": -1}}}, "'store.ttl.default_ttl'"),
        ({"store": {"ttl": {"days": 1}}}, "'store.ttl.days'"),
        ({"checkpointer": {"ttl": {"strategy": "keep_latest"}}}, "'checkpointer.ttl.strategy'"),
        ({"checkpointer": {"ttl": {"default_ttl": True}}}, "'checkpointer.ttl.default_ttl'"),
        ({"checkpointer": {"serde": {}, "ttl": {"refresh_on_read": True}}}, "refresh_on_read"),
        ({"http": {"app": "./app.py:app"}}, "'http.app'"),
        ({"http": {"app": 5}}, "'http.app'"),
        ({"http": {"disable_runs": True}}, "'http.disable_runs'"),
        ({"http": {"cors": {"allow_origins": ["*"]}}}, "'http.cors'"),
        ({"http": 5}, "'http'"),
        ({"webhooks": {"url": "x"}}, "'webhooks'"),
        ({"encryption": {"path": "x:y"}}, "'encryption'"),
    ],
)
def test_what_cannot_be_honoured_is_named_with_its_file(tmp_path, keys, named):
    with pytest.raises(LoadError) as refused:
        read(tmp_path, **keys)
    assert named in refused.value.message
    assert str(tmp_path / "langgraph.json") in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize("text", ["{", "[]", '"x"'])
def test_what_is_not_an_object_is_refused(tmp_path, text):
    with pytest.raises(LoadError, match=r"langgraph\.json"):
        read(tmp_path, text=text)
