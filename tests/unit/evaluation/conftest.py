"""Models for cases: one that plays the reference solutions, and others that do not."""

import sys
import zlib
from pathlib import Path

import pytest

from bathysphere.evaluation.subjects import Candidate
from bathysphere.models.resolve import Models
from bathysphere.models.settings import ModelSettings
from bathysphere.testing import FrailChatModel, ScriptedChatModel

QUALITY = Path(__file__).parents[3] / "benchmarks" / "quality"
sys.path.insert(0, str(QUALITY / "tutor"))
sys.path.insert(0, str(QUALITY / "evaluation"))

from eval_reference import Reference  # noqa: E402  # the benchmark's own parts


@pytest.fixture
def candidate():
    """Build a candidate: by a rule for all cases, by a rule per case, or one that is frail."""

    def create(rule=None, *, rate=0.0):
        def models(case, run):
            answer = rule or Reference(case)
            model = ScriptedChatModel(answer=answer)
            if rate:
                seed = zlib.crc32(f"{case.name}/{run}".encode())
                model = FrailChatModel(answer=answer, rate=rate, seed=seed)
            return Models(main=model, subagent=model, summary=model, audit=model)

        return Candidate(name="scripted", settings=ModelSettings(retries=0), models=models)

    return create
