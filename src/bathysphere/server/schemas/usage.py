"""Schemas of usage reports."""

from pydantic import BaseModel, Field


class UsageSum(BaseModel):
    """What runs used."""

    runs: int
    model_calls: int
    estimated_calls: int = Field(
        description="Model calls whose tokens are estimated: the model reported none, or the call"
        " was cut off."
    )
    input_tokens: int
    output_tokens: int
    tool_calls: int
    seconds: float = Field(description="Working time.")
    costs: dict[str, str] = Field(
        description="Cost by currency, as decimal numbers, of the models that have a price."
    )


class UsageLineView(UsageSum):
    """What runs used on one day, or with one model."""

    key: str | None = Field(
        description="The day in UTC, or the model; null for what belongs to no model: tool calls"
        " and working time."
    )


class UsageView(BaseModel):
    """The caller's usage in a period."""

    since: str
    until: str
    by: str
    lines: list[UsageLineView]
    total: UsageSum
