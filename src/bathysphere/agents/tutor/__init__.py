"""Tutor: a Socratic dialogue that develops and tests a person's own argument."""

from bathysphere.agents.tutor.agent import TutorConfig, spec

__all__ = ["TutorConfig", "spec"]
