"""Tests of models start from an environment in which no model is set."""

import os

import pytest

PREFIXES = ("BATHYSPHERE_MODEL_", "OLLAMA_", "LM_STUDIO_", "DEEPAGENTS_", "ANTHROPIC_", "OPENAI_")
PREFIXES += ("GOOGLE_", "GEMINI_")


@pytest.fixture(autouse=True)
def no_model_is_set(monkeypatch):
    for name in list(os.environ):
        if name.upper().startswith(PREFIXES):
            monkeypatch.delenv(name)
