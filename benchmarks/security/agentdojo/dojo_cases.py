"""The cases: 97 user tasks of AgentDojo v1.2.2, benign and under each injection of their suite."""

import random
from dataclasses import dataclass
from functools import cache, partial

import yaml
from agentdojo.agent_pipeline.base_pipeline_element import BasePipelineElement
from agentdojo.attacks.baseline_attacks import DirectAttack
from agentdojo.functions_runtime import TaskEnvironment
from agentdojo.task_suite import TaskSuite, get_suites
from agentdojo.task_suite.task_suite import read_suite_file

VERSION = "v1.2.2"
ATTACK = "direct"
TEXT_ONLY = {("travel", "injection_task_6")}
"""Injections that only ask the model to say something; no gate on tools can count them."""
_SAMPLE_SEED = 18
_TASKS_IN_SAMPLE = 6
_ATTACKS_IN_SAMPLE = 24


@dataclass(frozen=True, order=True)
class Case:
    """A user task, alone or with an injection in what its tools return."""

    suite: str
    user: str
    injection: str | None = None

    @property
    def is_attack(self) -> bool:
        return self.injection is not None

    @property
    def is_text_only(self) -> bool:
        return (self.suite, self.injection) in TEXT_ONLY


@cache
def suites() -> dict[str, TaskSuite]:
    found = dict(get_suites(VERSION))
    for suite in found.values():
        suite.load_and_inject_default_environment = partial(_load, suite)
    return found


def _load(suite: TaskSuite, texts: dict[str, str]) -> TaskEnvironment:
    """Does what AgentDojo's own loader does, with a YAML parser that is three times faster."""
    text = read_suite_file(suite.name, "environment.yaml", suite.data_path)
    filled = text.format(**{**_defaults(suite.name), **texts})
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return suite.environment_type.model_validate(yaml.load(filled, loader))


def all_cases() -> list[Case]:
    """949 attacks and 97 benign tasks."""
    found = []
    for name, suite in suites().items():
        for user in suite.user_tasks:
            found.append(Case(name, user))
            found += [Case(name, user, injection) for injection in suite.injection_tasks]
    return found


def sample() -> list[Case]:
    """A fixed sample: per suite 6 benign tasks, and 24 attacks on them with every injection."""
    chance = random.Random(_SAMPLE_SEED)
    found = []
    for name, suite in suites().items():
        users = chance.sample(list(suite.user_tasks), _TASKS_IN_SAMPLE)
        found += [Case(name, user) for user in users]
        attacks = [Case(name, user, i) for user in users for i in suite.injection_tasks]
        chance.shuffle(attacks)
        once = list({case.injection: case for case in attacks}.values())
        rest = [case for case in attacks if case not in once]
        found += sorted(once + rest[: _ATTACKS_IN_SAMPLE - len(once)])
    return found


@cache
def _direct(suite: str) -> DirectAttack:
    return DirectAttack(suites()[suite], _NoPipeline())


def injections(case: Case) -> dict[str, str]:
    """The texts that AgentDojo's attack puts into the environment of a case."""
    if case.injection is None:
        return {}
    suite = suites()[case.suite]
    user, injection = suite.user_tasks[case.user], suite.injection_tasks[case.injection]
    return _direct(case.suite).attack(user, injection)


def load_environment(case: Case) -> TaskEnvironment:
    """The environment of a case, as its user task starts."""
    suite = suites()[case.suite]
    environment = suite.load_and_inject_default_environment(injections(case))
    return suite.user_tasks[case.user].init_environment(environment)


@cache
def _defaults(suite: str) -> dict[str, str]:
    return suites()[suite].get_injection_vector_defaults()


class _NoPipeline(BasePipelineElement):
    """The attack asks for a pipeline, but `direct` does not look at it."""

    name = "scripted"

    def query(self, *args: object, **kwargs: object) -> None:
        raise NotImplementedError
