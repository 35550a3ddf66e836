"""Simple: the first agent to read and the first one that runs."""

from bathysphere.agents.simple.agent import SimpleConfig, spec

__all__ = ["SimpleConfig", "spec"]
