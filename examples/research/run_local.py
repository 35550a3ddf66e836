"""Research a question with a team of agents, and save the report as a file.

    python examples/research/run_local.py "How deep did the bathysphere dive?"

With no model configured, a scripted model works on the bundled sample pages. Set
`BATHYSPHERE_MODEL_MAIN=provider:name` for a real model; it searches the web with the engine of
`BATHYSPHERE_SEARCH_ENGINE` (see docs/fetch.md), or with `--sample` the sample pages.
"""

import argparse
import asyncio
from pathlib import Path

from agent import REPORT, deep_researcher
from scripted import scripted_model
from sources import sample_tools, web_tools

from bathysphere import AgentSpec, Models, ModelSettings, build
from bathysphere.models.names import DEMO_TOUR

QUESTION = "How deep did the bathysphere dive in 1934?"


def team(*, sample: bool) -> AgentSpec:
    """The team with the configured model, or the scripted one."""
    settings = ModelSettings.from_environment()
    if settings.choice("main").name == DEMO_TOUR:
        print("No model is configured: a scripted model reads the sample pages.\n")
        return deep_researcher(scripted_model(), sample_tools())
    model = Models.from_settings(settings).main
    return deep_researcher(model, sample_tools() if sample else web_tools())


async def research(spec: AgentSpec, question: str) -> str:
    """Run the team, say what it does, and return the report."""
    state = {}
    stream = build(spec).astream(
        {"messages": [("user", question)]}, stream_mode=["updates", "values"], subgraphs=True
    )
    async for path, mode, data in stream:
        if mode == "updates":
            _say(len(path), data)
        elif not path:
            state = data
    return str(state["files"][REPORT]["content"])


def _say(depth: int, update: dict) -> None:
    for change in update.values():
        for message in (change or {}).get("messages") or ():
            for call in getattr(message, "tool_calls", ()):
                words = " ".join(str(value) for value in call["args"].values())
                print("  " * depth + f"{call['name']}: {words.splitlines()[0][:70]}")


def main() -> None:
    """Read the command line, research, and save the report."""
    parser = argparse.ArgumentParser(description="Research a question with a team of agents.")
    parser.add_argument("question", nargs="?", default=QUESTION)
    parser.add_argument("--sample", action="store_true", help="read the bundled sample pages")
    parser.add_argument("--output", type=Path, default=Path(REPORT).name, help="the report's file")
    given = parser.parse_args()
    report = asyncio.run(research(team(sample=given.sample), given.question))
    Path(given.output).write_text(report, encoding="utf-8")
    print(f"\n{report}\nSaved as {given.output}.")


if __name__ == "__main__":
    main()
