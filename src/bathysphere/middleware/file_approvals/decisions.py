"""A person's decision about a proposed file change, bound to the version that was shown."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field


class Bound(BaseModel):
    """What was shown: the version of the file and the result of the change."""

    model_config = ConfigDict(extra="forbid")
    version: str
    result: str
    files: dict[str, str] | None = None
    """For a folder: the files to delete, with their versions."""
    added: int | None = None
    """Lines added; None in questions of former versions, as for `removed`."""
    removed: int | None = None


class _Decision(BaseModel):
    model_config = ConfigDict(extra="forbid")
    bound: Bound | None = None


class Approve(_Decision):
    """Approve the call."""

    type: Literal["approve"]


class EditedAction(BaseModel):
    """The call as edited by the person."""

    name: Literal["write_file", "edit_file", "delete"]
    args: dict[str, Any]


class Edit(_Decision):
    """Replace the call; it must change the same file."""

    type: Literal["edit"]
    edited_action: EditedAction


class Reject(_Decision):
    """Reject the call."""

    type: Literal["reject"]
    message: str = Field(default="", max_length=20_000)


Decision = Annotated[Approve | Edit | Reject, Discriminator("type")]
