"""What the scripted model says in the tutor's story, and the document that it quotes."""

import hashlib
import json

from bathysphere.argument.map import node_id_of
from bathysphere.testing import calls, says

QUOTE = "People went on taking dollars in shops."
NOTES = f"# Notes on money\n\nIn 1971 the dollar lost its gold. {QUOTE}\n"
CLAIM = node_id_of("claim", "Money is trust.")
PREMISE = "Paper has no use of its own."
FAITH = "A note is taken because the next one takes it."
GOLD = "Gold was money long before anybody trusted a bank."


def move(name, why, node=""):
    return says(json.dumps({"move": name, "why": why, "node": node}))


def on_map(kind, text, **more):
    return calls("propose_node", {"kind": kind, "text": text, **more})


def voice(name, task):
    return calls("task", {"description": task, "subagent_type": name})


def backup() -> str:
    """A person's workspace with one document, as the app exports it."""
    version = hashlib.sha256(NOTES.encode()).hexdigest()[:16]
    project = {"id": "project-1", "name": "Essay", "createdAt": 1}
    row = {
        "id": "doc-notes",
        "projectId": "project-1",
        "title": "money.md",
        "kind": "document",
        "type": "text/markdown",
        "version": version,
        "number": 1,
        "characters": len(NOTES),
        "createdAt": 1,
        "changedAt": 1,
        "origin": "",
    }
    text = {
        "documentId": "doc-notes",
        "number": 1,
        "version": version,
        "text": NOTES,
        "at": 1,
        "by": "person",
        "why": "",
        "isKept": True,
    }
    return json.dumps(
        {
            "format": "bathysphere-workspace",
            "version": 1,
            "at": 1,
            "projects": [project],
            "documents": [row],
            "versions": [text],
            "disclosures": [],
            "talks": [],
        }
    )
