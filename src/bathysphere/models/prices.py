"""Prices of models, from the tables `[prices."provider:name"]` of the catalogue.

No prices ship: they change, and differ by contract. An operator adds those that they pay.
"""

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bathysphere.core.errors import ConfigError
from bathysphere.models.downloads import HINT, PRICES, read_catalog
from bathysphere.models.settings import ModelSettings

_MILLION = 1_000_000


class Price(BaseModel):
    """What a model costs, per million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "USD"

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """The cost of these tokens."""
        return (self.input * input_tokens + self.output * output_tokens) / _MILLION


def price_of(name: str, settings: ModelSettings) -> Price | None:
    """The price of a model by its name; None if the catalogue does not have it.

    Raises:
        ConfigError: The operator's file cannot be read, or the price is invalid.
    """
    if settings.catalog is None:
        return None
    fields = _tables(settings.catalog).get(name)
    return None if fields is None else _price(name, fields, settings.catalog)


def all_prices(settings: ModelSettings) -> dict[str, Price]:
    """The prices of the catalogue, by the names of their models.

    Raises:
        ConfigError: The operator's file cannot be read, or a price is invalid.
    """
    path = settings.catalog
    if path is None:
        return {}
    return {name: _price(name, fields, path) for name, fields in _tables(path).items()}


def _tables(path: Path) -> dict[str, Any]:
    tables = read_catalog(path).get(PRICES, {})
    if not isinstance(tables, dict):
        raise ConfigError(f"{path}: [{PRICES}] is not a table", hint=HINT)
    return tables


def _price(name: str, fields: Any, path: Path) -> Price:
    try:
        return Price(**fields)
    except (ValidationError, TypeError) as error:
        raise ConfigError(f'{path}: [{PRICES}."{name}"] is not a price', hint=HINT) from error
