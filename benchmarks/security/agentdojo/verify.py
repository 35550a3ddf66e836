"""Check what the benchmark adds to AgentDojo. Last line: JSON.

Each attack that was written out must pass AgentDojo's own check, and each tool and argument must
be declared for flow control.
"""

import json

from dojo_environment import activate

activate()

from dojo_attacks import WRITTEN_OUT, attack_calls  # noqa: E402  # needs AgentDojo on the path
from dojo_cases import all_cases, sample, suites  # noqa: E402
from dojo_flows import undeclared  # noqa: E402
from dojo_scenario import copy_of, runtime  # noqa: E402


def passes(suite_name: str, injection: str) -> bool:
    """Whether AgentDojo's check accepts what an attack does, and nothing before it."""
    suite = suites()[suite_name]
    task = suite.injection_tasks[injection]
    before = suite.load_and_inject_default_environment({})
    untouched, after = copy_of(before), copy_of(before)
    for call in attack_calls(suite_name, task, before):
        runtime(suite_name).run_function(after, call.function, call.args, raise_on_error=True)
    if task.security("", copy_of(before), untouched):
        return False
    return bool(task.security("", before, after))


def main() -> None:
    cases = all_cases()
    found = {
        "attacks": sum(case.is_attack for case in cases),
        "text_only": sum(case.is_text_only for case in cases),
        "benign": sum(not case.is_attack for case in cases),
        "tools": sum(len(suite.tools) for suite in suites().values()),
        "sample": len(sample()),
        "sampled_injections": len({(c.suite, c.injection) for c in sample() if c.is_attack}),
        "written_out": {
            f"{suite} {injection}": passes(suite, injection)
            for suite, injections in WRITTEN_OUT.items()
            for injection in injections
        },
        "empty": [
            f"{name} {injection}"
            for name, suite in suites().items()
            for injection, task in suite.injection_tasks.items()
            if not attack_calls(name, task, suite.load_and_inject_default_environment({}))
        ],
        "undeclared": [name for suite in suites().values() for name in undeclared(suite.tools)],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
