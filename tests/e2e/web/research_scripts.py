"""What the scripted model says in the research stories, over the sample pages that ship."""

import json

from bathysphere.testing import says

DEPTH = "bathysphere record depth 1934"
MAKERS = "who designed the bathysphere"
CABLE = "steel cable of the bathysphere"


def answer(value):
    return says(json.dumps(value))


def plan(objective, *steps):
    return answer(
        {
            "objective": objective,
            "steps": [
                {"tool": "search_corpus", "input": words, "rationale": why, "after": after}
                for words, why, after in steps
            ],
            "estimated_token_budget": 4000,
        }
    )


def more(*inputs):
    return answer(
        {
            "requests": [
                {"tool": "search_corpus", "input": words, "rationale": "A gap in the sources."}
                for words in inputs
            ]
        }
    )


def claim(text, *quotes):
    return {"text": text, "quotes": [{"source": s, "quote": q} for s, q in quotes]}


FIRST = plan("Know how deep it went", (DEPTH, "The record is what is asked.", []))
SECOND = plan(
    "Know how deep it went, and who made it",
    (DEPTH, "The record is what is asked.", []),
    (MAKERS, "You asked for its makers.", [1]),
)
RECORD = "The bathysphere reached a depth of 923 metres on that day."
REEF = "The reef 🪸 is 40 metres deep at its edge."
RUMOUR = "The bathysphere reached a depth of 1,200 metres on that day"
REPORT = answer(
    {
        "claims": [
            claim("The bathysphere went down to 923 metres in 1934.", ("S1", RECORD)),
            claim(
                "Otis Barton designed it and paid for it.",
                ("S1", "Otis Barton, an engineer, designed the bathysphere and paid for it."),
            ),
            claim("It was painted red.", ("S1", "The sphere was painted a bright red for safety.")),
        ],
        "contradictions": [
            {
                "about": "How deep it went",
                "sides": [
                    {"source": "S1", "quote": RECORD},
                    {"source": "S1", "quote": RUMOUR},
                ],
            }
        ],
    }
)
NO_REPAIR = answer({"quotes": []})


def judged(**follows):
    return answer(
        {
            "judgements": [
                {"claim": claim, "follows": holds, "reason": "" if holds else "the day differs"}
                for claim, holds in follows.items()
            ]
        }
    )
