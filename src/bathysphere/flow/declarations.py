"""What tools do, as data that an operator writes.

Declarations are part of an agent's spec and never of a tool: a server could write anything into a
tool's metadata. Whatever is not declared is assumed to be dangerous.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from bathysphere.core.errors import ConfigError
from bathysphere.flow.kinds import UNNAMED, Kind, check_kind

Reads = Literal["trusted", "untrusted", "catalogue"]
"""`catalogue`: names of a source that nobody outside can write to."""


@dataclass(frozen=True)
class Lookup:
    """A tool that finds records by name, such as contacts.

    Attributes:
        keys: The arguments that say what to look for.
        name: The field of a record that must equal one of them.
        fields: Field of a record → kind of its value.
    """

    keys: tuple[str, ...]
    name: str
    fields: Mapping[str, Kind]


@dataclass(frozen=True)
class ToolFlow:
    """What a tool does. The defaults are those of a tool that nobody declared.

    Attributes:
        acts: It changes something.
        sends: Its arguments are sent out.
        reads: Whose words its result is.
        secret: Its result is private.
        makes: Field of the result → kind of the id that a call creates.
        finds: How records of the result are named, if it looks something up.
        arguments: Argument → kind.
    """

    acts: bool = True
    sends: bool = True
    reads: Reads = "untrusted"
    secret: bool = False
    makes: Mapping[str, Kind] = field(default_factory=dict)
    finds: Lookup | None = None
    arguments: Mapping[str, Kind] = field(default_factory=dict)

    @property
    def is_gated(self) -> bool:
        """Whether a call may need to be asked about."""
        return self.acts or self.sends

    def kind(self, argument: str) -> Kind:
        """The kind of an argument."""
        return self.arguments.get(argument, UNNAMED)


UNDECLARED = ToolFlow()
"""A tool that nobody declared: it acts, sends and reads untrusted text."""


def flow(
    *,
    acts: bool = False,
    sends: bool = False,
    reads: Reads = "untrusted",
    secret: bool = False,
    makes: Mapping[str, Kind] | None = None,
    finds: Lookup | None = None,
    **arguments: Kind,
) -> ToolFlow:
    """Declare what a tool does; keywords are its arguments.

    Raises:
        ConfigError: A kind is unknown, or a look-up has no key.
    """
    if finds is not None and not finds.keys:
        raise ConfigError("A look-up needs at least one key", hint="Lookup(keys=('name',), …)")
    created, found = dict(makes or {}), dict(finds.fields) if finds else {}
    for kind in (*arguments.values(), *created.values(), *found.values()):
        check_kind(kind)
    return ToolFlow(
        acts=acts,
        sends=sends,
        reads=reads,
        secret=secret,
        makes=created,
        finds=finds,
        arguments=arguments,
    )


@dataclass(frozen=True)
class FlowPolicy:
    """The rules of one agent.

    Attributes:
        tools: Tool → what it does. Tools of the harness and of MCP servers declare themselves;
            any other tool acts, sends and reads untrusted text.
        planner: `apart`: a model call that sees the person's words alone makes the plan.
        unplanned: What happens to a call that may not run unasked.
        quiet_after: After so many refusals in a run, unplanned calls are refused unasked.
    """

    tools: Mapping[str, ToolFlow] = field(default_factory=dict)
    planner: Literal["apart", "none"] = "apart"
    unplanned: Literal["ask", "refuse"] = "ask"
    quiet_after: int | None = None

    def of(self, tool: str) -> ToolFlow:
        """What a tool does."""
        return self.tools.get(tool, UNDECLARED)


def does(tool: ToolFlow) -> str:
    """What a tool does, in words."""
    found = {
        "acts": tool.acts,
        "sends": tool.sends,
        f"reads {tool.reads}": True,
        "reads secrets": tool.secret,
        f"makes {', '.join(tool.makes.values())}": bool(tool.makes),
    }
    words = [word for word, holds in found.items() if holds]
    if tool.finds is not None:
        words.append(f"looks up {', '.join(tool.finds.fields)} by {', '.join(tool.finds.keys)}")
    kinds = ", ".join(f"{name}: {kind}" for name, kind in tool.arguments.items())
    return ", ".join(words) + (f" ({kinds})" if kinds else "")
