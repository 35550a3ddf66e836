"""Names of the founding documents on a served API: one agent, one list of conversations."""

import httpx
import pytest

pytestmark = pytest.mark.services
TUTOR = ("tutor", "deeptutor", "seminar_agent")


@pytest.fixture(scope="module")
def api(edge_database, module_command):
    at = ("--database-url", edge_database.url)
    url = module_command("serve", "--auth", "api-key", "--port", "0", *at).url()
    made = module_command("keys", *at, "create", "--tenant", "acme", "--user", "ada").output()
    headers = {"Authorization": f"Bearer {made.splitlines()[0]}"}
    with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
        yield client


def posted(api, path, **body):
    answer = api.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def threads_of(api, graph):
    found = posted(api, "/threads/search", metadata={"graph_id": graph})
    assert posted(api, "/threads/count", metadata={"graph_id": graph}) == len(found)
    return {thread["thread_id"] for thread in found}


def test_an_assistant_is_found_by_its_aliases_and_listed_once(api):
    found = [api.get(f"/assistants/{name}").json() for name in TUTOR]
    assert found[0] == found[1] == found[2]
    assert api.get("/assistants/simple_agent").json()["graph_id"] == "simple"
    listed = posted(api, "/assistants/search")
    assert sorted(each["name"] for each in listed) == ["research", "simple", "tutor", "workspace"]


def test_conversations_are_not_split_between_names(api):
    opened = []
    for name in TUTOR:
        thread = posted(api, "/threads", metadata={"graph_id": name})
        assert thread["metadata"]["graph_id"] == "tutor"
        opened.append(thread["thread_id"])
        run = posted(api, f"/threads/{opened[-1]}/runs", assistant_id=name, input={"messages": []})
        assert run["metadata"]["graph_id"] == "tutor"
        api.patch(f"/threads/{opened[-1]}", json={"metadata": {"graph_id": name}})
    for name in TUTOR:
        assert threads_of(api, name) == set(opened)
    assert threads_of(api, "simple_agent") == set()


def test_a_stored_assistant_keeps_the_real_name(api):
    made = posted(api, "/assistants", graph_id="deeptutor", name="Mine")
    assert made["graph_id"] == "tutor"
    for name in TUTOR:
        found = posted(api, "/assistants/search", graph_id=name)
        assert {each["name"] for each in found} == {"Mine", "tutor"}
        assert posted(api, "/assistants/count", graph_id=name) == 2
    changed = api.patch(f"/assistants/{made['assistant_id']}", json={"graph_id": "simple_agent"})
    assert changed.json()["graph_id"] == "simple"


def test_an_unknown_name_stays_unknown(api):
    answer = api.get("/assistants/deeptutro")
    assert answer.status_code == 404
    assert "deeptutor" not in answer.text
