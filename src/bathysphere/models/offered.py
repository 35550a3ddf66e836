"""The models that an operator offers for conversations, from `BATHYSPHERE_MODELS_OFFERED`."""

from collections.abc import Iterable
from typing import NamedTuple

from bathysphere.core.errors import ConfigError
from bathysphere.models.names import parse
from bathysphere.models.settings import OFFERED, ModelSettings


class OfferedModel(NamedTuple):
    """A model to choose, and what people see of it."""

    name: str
    label: str | None = None


def offered_models(settings: ModelSettings, found: Iterable[str] = ()) -> tuple[OfferedModel, ...]:
    """The operator's list, else the models that were found, with the main model among them.

    Raises:
        ConfigError: An entry is not a model, or a model is listed twice.
    """
    listed = [_offer(entry) for entry in settings.offered] or [OfferedModel(each) for each in found]
    names = [each.name for each in listed]
    if settings.offered and len(set(names)) < len(names):
        raise ConfigError(f"A model is listed twice: {OFFERED}", hint="list each model once")
    main = settings.choice("main").name
    default = () if main in names else (OfferedModel(main),)
    return (*default, *listed)


def _offer(entry: str) -> OfferedModel:
    name, _, label = (part.strip() for part in entry.partition("="))
    try:
        return OfferedModel(str(parse(name)), label or None)
    except ConfigError as error:
        raise ConfigError(f"{error.message} in {OFFERED}", hint=error.hint) from error
