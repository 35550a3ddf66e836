"""Tutor quality: scripted personas talk to the tutor, and the conversations are scored by rule.

Without a model it checks the machinery (move choice, ladder, form and its repair, quote check, map
checks) with a scripted tutor, and fails if a figure is not as required. With
BATHYSPHERE_MODEL_MAIN set it measures that model. `--prompts` runs the seed's example prompts
instead of the personas. Last line: JSON.
"""

import argparse
import asyncio
import json
import os
import sys

from tutor_measure import Counts
from tutor_measured import MUST, prompt, talk_to
from tutor_personas import PERSONAS
from tutor_scripted import careful, careless
from tutor_seed_prompts import SEED_PROMPTS

from bathysphere.middleware.reliability import reliability
from bathysphere.models.resolve import Models, name_of
from bathysphere.models.settings import ModelSettings
from bathysphere.testing import ScriptedChatModel


def all_roles(model: ScriptedChatModel) -> Models:
    """One model for every role."""
    return Models(main=model, subagent=model, summary=model, audit=model)


def configured_models() -> tuple[Models, tuple] | None:
    """The model that the environment configures, if any."""
    if not os.environ.get("BATHYSPHERE_MODEL_MAIN"):
        return None
    settings = ModelSettings.from_environment()
    models = Models.from_settings(settings)
    return models, reliability(settings, fallback=models.fallback)


async def run_personas(tutor: str, names: list[str]) -> dict:
    found, total = configured_models(), Counts()
    for persona in PERSONAS:
        if names and persona.name not in names:
            continue
        rule = careless if tutor == "careless" else careful
        models, layers = found or (all_roles(ScriptedChatModel(answer=rule)), ())
        counts = await talk_to(persona, models, layers)
        print(f"{persona.name}: {json.dumps(counts.figures())}", flush=True)
        total += counts
    model = name_of(found[0].main) if found else f"scripted ({tutor})"
    return {"model": model, **total.figures()}


async def run_prompts() -> dict:
    found, failed = configured_models(), {}
    for case in SEED_PROMPTS:
        scripted = ScriptedChatModel(script=list(case.script))
        models, layers = found or (all_roles(scripted), ())
        failures = await prompt(case, models, layers)
        print(f"{case.prompt}: {'; '.join(failures) or 'passed'}", flush=True)
        if failures:
            failed[case.prompt] = failures
    model = name_of(found[0].main) if found else "scripted"
    return {"model": model, "prompts": len(SEED_PROMPTS), "failed": failed}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tutor", choices=["careful", "careless"], default="careful")
    parser.add_argument(
        "--persona", action="append", default=[], help="run only this persona; repeatable"
    )
    parser.add_argument(
        "--prompts", action="store_true", help="run the seed's example prompts instead"
    )
    options = parser.parse_args()
    if options.prompts:
        figures = asyncio.run(run_prompts())
        bad = figures["failed"]
    else:
        figures = asyncio.run(run_personas(options.tutor, options.persona))
        bad = {name: figures[name] for name, must in MUST.items() if figures[name] != must}
    print(json.dumps(figures))
    return int(bool(bad) and configured_models() is None)


if __name__ == "__main__":
    sys.exit(main())
