"""`bathysphere policy`: show what is understood of a POLICY.md, without a model."""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bathysphere.policy.rules import Policy

HELP = "show the rules and the questions to the auditor in a POLICY.md"
SHIPPED = "the one that ships"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `policy [FILE]`."""
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        type=Path,
        help="the policy (default: the one that `bathysphere research` uses here)",
    )


def run(args: argparse.Namespace) -> int:
    """Print the rules that are enforced and the sentences that the auditor is asked about."""
    from bathysphere.policy.file import read_policy_file
    from bathysphere.policy.rules import default_policy

    path = args.file or _used_here()
    policy = read_policy_file(path, hint="check the path") if path else default_policy()
    print(f"Policy: {path or SHIPPED}")
    _print_rules(policy)
    _print_questions(policy)
    return 0


def _used_here() -> Path | None:
    from bathysphere.agents.research.settings import ResearchSettings
    from bathysphere.policy.file import local_policy_file

    return ResearchSettings.from_environment().policy_file or local_policy_file()


def _print_rules(policy: "Policy") -> None:
    from bathysphere.policy.outline import rule_lines

    source = "of this file" if policy.has_own_rules else "that ship"
    print(f"\nRules {source}, checked by code:")
    _print_table(rule_lines(policy))


def _print_questions(policy: "Policy") -> None:
    from bathysphere.core.invisible import reveal
    from bathysphere.policy.outline import question_lines

    questions = list(question_lines(policy))
    if questions:
        print("\nQuestions of the rules to the auditor, decided by judgement:")
        _print_table(questions)
    if not policy.sentences:
        print("\nNo sentences for the auditor.")
        return
    print("\nSentences for the auditor, decided by judgement, for every plan:")
    for number, sentence in enumerate(policy.sentences, 1):
        print(f"  {number}. {reveal(sentence)}")


def _print_table(lines: Iterable[tuple[str, str]]) -> None:
    from bathysphere.core.invisible import reveal

    rows = list(lines)
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"  {name:<{width}}  {reveal(value)}")
