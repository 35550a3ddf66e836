"""The catalogue of models that can be pulled: the one that ships, and the operator's file.

A GGUF file has a URL and a hash. Models of Ollama and LM Studio have neither: those programs fetch
and verify their models themselves.
"""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError, model_validator

from bathysphere.core.errors import ConfigError
from bathysphere.models.names import LLAMACPP, ModelName
from bathysphere.models.settings import PREFIX, ModelSettings

SMALLEST = "smollm2-135m"
PRICES = "prices"
"""The table of the catalogue that is not a model: `prices.py` reads it."""
HINT = "see docs/models.md#catalogue"
_MB = 1_000_000


class Download(BaseModel):
    """A model that can be pulled."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[^./\\][^\\]*$")]
    provider: Literal["llamacpp", "ollama", "lm-studio"] = "llamacpp"
    url: Annotated[str, Field(pattern=r"^https?://")] | None = None
    """Where a GGUF file is, at a fixed revision."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    size: PositiveInt
    """Bytes."""
    licence: str
    about: str = ""
    for_tests: bool = False
    """Whether it only tests an installation: too small to talk to, so people are not offered it."""

    @model_validator(mode="after")
    def _check_file(self) -> Self:
        is_file = self.provider == LLAMACPP
        if is_file and (not self.url or not self.sha256 or "/" in self.name):
            message = "a GGUF file needs a plain name, `url` and `sha256`"
            raise ValueError(message)
        if not is_file and (self.url or self.sha256):
            message = f"{self.provider} fetches its models itself: leave out `url` and `sha256`"
            raise ValueError(message)
        return self

    @property
    def model(self) -> str:
        """The model's name in settings, `provider:name`."""
        return str(ModelName(self.provider, self.name))

    @property
    def summary(self) -> str:
        """Its size, licence and purpose, in one line."""
        about = f"; {self.about}" if self.about else ""
        return f"{self.size / _MB:,.0f} MB, {self.licence}{about}"


def downloads(settings: ModelSettings) -> dict[str, Download]:
    """Read the catalogue.

    Raises:
        ConfigError: The operator's file cannot be read, or one of its entries is invalid.
    """
    shipped = files("bathysphere.models").joinpath("catalog.toml").read_text(encoding="utf-8")
    entries = _entries(_tables(shipped, "catalog.toml"), "catalog.toml")
    if settings.catalog is not None:
        entries |= _entries(read_catalog(settings.catalog), str(settings.catalog))
    return entries


def read_catalog(path: Path) -> dict[str, Any]:
    """Read the tables of the operator's file.

    Raises:
        ConfigError: The file cannot be read, or is not TOML.
    """
    try:
        text = path.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"The catalogue of models cannot be read: {path}", hint=f"correct {PREFIX}CATALOG"
        ) from error
    return _tables(text, str(path))


def _tables(text: str, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{source} is not valid TOML: {error}", hint=HINT) from error


def _entries(tables: Mapping[str, Any], source: str) -> dict[str, Download]:
    found = {}
    for name, fields in tables.items():
        if name == PRICES:
            continue
        try:
            if not isinstance(fields, dict):
                message = "not a table"
                raise ValueError(message)
            found[name] = Download(name=name, **fields)
        except (ValidationError, TypeError, ValueError) as error:
            raise ConfigError(f"{source}: [{name}] {_problem(error)}", hint=HINT) from error
    return found


def _problem(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    words = str(first["msg"]).removeprefix("Value error, ")
    return f"{where}: {words}" if where else words
