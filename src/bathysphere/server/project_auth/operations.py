"""Which resource and action of LangGraph's authorization each of our operations is.

An operation that is not listed has no equivalent there; only a handler for everything (`@auth.on`)
decides about it, with the operation's tag as the resource.
"""

from typing import Literal, NamedTuple

Kind = Literal[
    "create", "one", "update", "search", "run", "runs", "copy", "prune", "store", "unfiltered"
]


class Operation(NamedTuple):
    """What a request does, in the words of a project's handlers."""

    resource: str
    action: str
    kind: Kind


def _all(resource: str, action: str, kind: Kind, names: str) -> dict[str, Operation]:
    return dict.fromkeys(names.split(), Operation(resource, action, kind))


OPERATIONS = {
    **_all("threads", "create", "create", "threads-create"),
    **_all(
        "threads", "search", "search", "threads-search threads-count conversations-search-messages"
    ),
    **_all("threads", "delete", "prune", "threads-prune"),
    **_all("threads", "read", "copy", "threads-copy"),
    **_all(
        "threads",
        "read",
        "one",
        "threads-get threads-storage threads-join-stream state-get state-get-at"
        " state-get-checkpoint state-history state-list-history runs-list-runs runs-get runs-join"
        " runs-join-stream protocol-stream-events payments-show payments-refunds research-get"
        " research-report research-reports research-source research-join"
        " conversations-list-shares",
    ),
    **_all(
        "threads",
        "update",
        "one",
        "state-update runs-cancel stateless-cancel-many payments-open-session"
        " payments-deposit payments-close conversations-share conversations-revoke-share",
    ),
    **_all("threads", "update", "update", "threads-update"),
    **_all("threads", "delete", "one", "threads-delete runs-delete"),
    **_all("threads", "create_run", "run", "runs-create runs-stream runs-wait protocol-command"),
    **_all("threads", "create_run", "runs", "stateless-create stateless-stream stateless-wait"),
    **_all("threads", "create_run", "runs", "stateless-batch"),
    **_all(
        "threads",
        "create_run",
        "unfiltered",
        "agent-agent research-ask research-approve mcp-post mcp-get mcp-delete",
    ),
    **_all("assistants", "create", "create", "assistants-create"),
    **_all("assistants", "search", "search", "assistants-search assistants-count"),
    **_all(
        "assistants",
        "read",
        "one",
        "assistants-get assistants-graph assistants-schemas assistants-subgraphs"
        " assistants-subgraphs-of-namespace assistants-versions",
    ),
    **_all("assistants", "update", "update", "assistants-update"),
    **_all("assistants", "update", "one", "assistants-set-latest"),
    **_all("assistants", "delete", "one", "assistants-delete"),
    **_all("crons", "create", "create", "crons-create crons-create-for-thread"),
    **_all("crons", "search", "search", "crons-search crons-count"),
    **_all("crons", "read", "one", "crons-get"),
    **_all("crons", "update", "update", "crons-update"),
    **_all("crons", "delete", "one", "crons-delete"),
    **_all("store", "put", "store", "store-put"),
    **_all("store", "get", "store", "store-get"),
    **_all("store", "delete", "store", "store-delete"),
    **_all("store", "search", "store", "store-search"),
    **_all("store", "list_namespaces", "store", "store-namespaces"),
}
STARTING_COMMANDS = frozenset({"run.start", "input.respond", "input.inject", "state.fork"})
"""Methods of the protocol that start a run; the others read."""
