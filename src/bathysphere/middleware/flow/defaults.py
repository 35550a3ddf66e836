"""What the harness's own tools do."""

from collections.abc import Mapping

from bathysphere.flow import ToolFlow, flow

_READS = flow()
_OWN = flow(reads="trusted")

OWN_TOOLS: Mapping[str, ToolFlow] = {
    **dict.fromkeys(("ls", "glob", "grep", "read_file"), _READS),  # files have no author
    **dict.fromkeys(("write_todos", "ask_user", "ask_choices"), _OWN),
    "task": _OWN,  # the subagent returns its ledger
}
FILE_TOOLS: Mapping[str, ToolFlow] = {
    "write_file": flow(acts=True, file_path="what", content="text"),
    "edit_file": flow(
        acts=True, file_path="what", old_string="text", new_string="text", replace_all="flag"
    ),
    "delete": flow(acts=True, file_path="what"),
}
"""Tools on files that others see, or that later prompts are made of."""
SCRATCH_TOOLS: Mapping[str, ToolFlow] = dict.fromkeys(("write_file", "edit_file", "delete"), _OWN)
"""They change nothing but the agent's scratch files."""
