"""Simple: a minimal general-purpose agent, and a good first example."""

from bathysphere.agents.simple.agent import SimpleConfig, spec

__all__ = ["SimpleConfig", "spec"]
