"""`bathysphere serve`, with the test graphs beside the agents: the arguments are the command's."""

import sys
from functools import partial

from graphs import GRAPHS

from bathysphere.cli.main import main
from bathysphere.engine.graphs import Graphs
from bathysphere.server import parts

graphs_of = parts.graphs_of


def with_test_graphs(*models, **more):
    agents = graphs_of(*models, **more)
    return Graphs({**{name: partial(agents.get, name) for name in agents.names()}, **GRAPHS})


if __name__ == "__main__":
    parts.graphs_of = with_test_graphs
    sys.exit(main(["serve", *sys.argv[1:]]))
