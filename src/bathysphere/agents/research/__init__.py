"""Research: a question, an audited and approved plan, sources, and a verifiable report."""

from bathysphere.agents.research.agent import ResearchConfig, spec

__all__ = ["ResearchConfig", "spec"]
