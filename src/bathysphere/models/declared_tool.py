"""Tools of our own that declare what they do, for flow control.

The declaration is a field of our class and never read from a tool's `metadata`, into which a server
could write anything.
"""

from pydantic import SkipValidation

from bathysphere.flow.declarations import UNDECLARED, ToolFlow
from bathysphere.models.short_tool import ShortTool


class DeclaredTool(ShortTool):
    """A tool with its declaration."""

    flow: SkipValidation[ToolFlow] = UNDECLARED
    is_foreign: bool = False
    """Whether its words were written by others: no planning call sees them."""
