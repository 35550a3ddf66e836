"""The commands and their options, made from the parsers of the command line."""

import argparse
from collections.abc import Iterator


def commands_page() -> str:
    """All commands, as Markdown."""
    from bathysphere.cli.main import COMMANDS, create_parser

    parser = create_parser(COMMANDS)
    return "\n\n".join(_section(*found) for found in command_parsers(parser))


def command_parsers(
    parser: argparse.ArgumentParser, summary: str = ""
) -> Iterator[tuple[argparse.ArgumentParser, str]]:
    """A parser and those of its commands, each with what it does."""
    yield parser, summary or parser.description or ""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                yield from command_parsers(command, helps.get(name, ""))


def _section(parser: argparse.ArgumentParser, summary: str) -> str:
    rows = [
        f"| {names(action)} | {_text(parser, action)} |"
        for action in parser._actions
        if not isinstance(action, argparse._HelpAction | argparse._SubParsersAction)
    ]
    title = f"## `{parser.prog}`"
    text = f"{title}\n\n{summary[:1].upper()}{summary[1:].rstrip('.')}."
    return "\n".join((f"{text}\n", "| argument | meaning |\n|---|---|", *rows)) if rows else text


def names(action: argparse.Action) -> str:
    """How an argument is written."""
    value = "" if action.nargs == 0 else _value(action)
    if not action.option_strings:
        return f"`{value}`"
    return ", ".join(f"`{option}{' ' if value else ''}{value}`" for option in action.option_strings)


def _value(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices:
        return "|".join(map(str, action.choices))
    return action.dest.upper() if action.option_strings else action.dest


def _text(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    formatter = parser.formatter_class(prog=parser.prog)
    text = formatter._expand_help(action) if action.help else ""
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split()) or "–"
