"""Research: question, audited plan, the person's word, sources, a report that can be checked."""

from bathysphere.agents.research.agent import ResearchConfig, spec

__all__ = ["ResearchConfig", "spec"]
