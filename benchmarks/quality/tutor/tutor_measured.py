"""Run a persona or one of the seed's prompts against the tutor, and score it."""

from tutor_dialogue import Dialogue
from tutor_measure import Counts, measure
from tutor_personas import Persona
from tutor_seed_prompts import SeedPrompt

from bathysphere.models.resolve import Models

MUST = {
    "form_share": 1.0,
    "given_away": 0,
    "told_when_asked": 1.0,
    "quote_validity": 1.0,
    "made_up_quotes": 0,
    "unanswered_objections": 0,
}
"""The required figures with the scripted tutor."""


async def talk_to(persona: Persona, models: Models, layers: tuple = ()) -> Counts:
    """Play all lines of a persona, and return the counts."""
    talk = Dialogue(
        models=models, documents=persona.documents, accepts=persona.accepts, reliability=layers
    )
    for line in persona.says:
        await talk.say(line, lambda question: persona.answers)
    return measure(talk.state, talk.shelf.texts, persona.secret)


async def prompt(case: SeedPrompt, models: Models, layers: tuple = ()) -> list[str]:
    """Send one of the seed's example prompts to the tutor; return the failures."""
    talk = Dialogue(models=models, documents=case.documents, reliability=layers)
    await talk.say(case.prompt, lambda question: case.answer)
    return case.failures(talk)
