"""Reads Inspect's logs of evaluations into figures."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog, EvalSample, list_eval_logs, read_eval_log
from inspect_ai.scorer import CORRECT

from bathysphere.evaluation.figures import FAILED, SCORE, CaseFigures, LogFigures, newest
from bathysphere.evaluation.inspect_tasks import PROVIDER


def read_logs(folder: Path) -> list[LogFigures]:
    """The newest log of each model, harness, version and suite below a folder."""
    return newest(_all(folder))


def _all(folder: Path) -> Iterator[LogFigures]:
    for info in list_eval_logs(str(folder), recursive=True):
        log = read_eval_log(info)
        if log.eval.model.startswith(f"{PROVIDER}/"):
            yield _figures(log)


def _figures(log: EvalLog) -> LogFigures:
    facts: dict[str, Any] = log.eval.metadata or {}
    return LogFigures(
        model=log.eval.model.partition("/")[2],
        harness=str(facts.get("harness")),
        suite=str(facts.get("suite")),
        version=str(facts.get("version", "")),
        profile=str(facts.get("profile", "")),
        created=log.eval.created,
        status=log.status,
        facts=facts,
        cases=[_case(sample) for sample in log.samples or ()],
    )


def _case(sample: EvalSample) -> CaseFigures:
    score = (sample.scores or {}).get(SCORE)
    found: dict[str, Any] = (score.metadata if score else None) or {}
    return CaseFigures(
        name=str(sample.id),
        epoch=sample.epoch,
        passed=score is not None and score.value == CORRECT,
        failed=found.get(FAILED) or ([sample.error.message] if sample.error else []),
        seconds=sample.total_time or 0.0,
        model_calls=found.get("model_calls", 0),
        input_tokens=found.get("input_tokens", 0),
        output_tokens=found.get("output_tokens", 0),
        corrections=found.get("corrections") or {},
        cost=found.get("cost"),
        currency=found.get("currency"),
    )
