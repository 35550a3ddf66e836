"""`bathysphere serve`, with the test graphs beside the agents: the arguments are the command's."""

import asyncio
import sys
from functools import partial

from graphs import GRAPHS

from bathysphere.agents.research.source_access import GuardedSources
from bathysphere.cli.main import main
from bathysphere.engine.graphs import Graphs
from bathysphere.server.process import assembly as parts

graphs_of = parts.graphs_of
search_corpus = GuardedSources.corpus


def with_test_graphs(*models, **more):
    agents = graphs_of(*models, **more)
    return Graphs({**{name: partial(agents.get, name) for name in agents.names()}, **GRAPHS})


async def as_on_a_slow_day(self, query, limit):
    """A search whose words say so takes its time, so that a person can watch it."""
    if "slowly" in query:
        await asyncio.sleep(3)
    return await search_corpus(self, query, limit)


if __name__ == "__main__":
    GuardedSources.corpus = as_on_a_slow_day
    parts.graphs_of = with_test_graphs
    sys.exit(main(["serve", *sys.argv[1:]]))
