"""Profiles: how much an agent asks of its model, chosen by what the model was seen to do.

`full` is for models that call tools reliably. `lean` is for the others: fewer tools, short prompts,
one tool call at a time. `bathysphere models test` probes a model and stores a report by its name;
`auto` uses the profile of that report, and `full` for a model that was never tested.
"""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self
from urllib.parse import quote

from bathysphere.core.errors import BathysphereError, ConfigError
from bathysphere.models.names import parse
from bathysphere.models.settings import PREFIX, ModelSettings

Profile = Literal["full", "lean"]
PROFILES: tuple[Profile, ...] = ("full", "lean")

INSTALLATION = "a test of the installation, nothing more"
UNTESTED = "not tested: run `bathysphere models test {name}`"
_FORMAT = 1

CALLS, SCHEMA = "calls a tool", "keeps to a JSON schema"
"""Names of the probes that decide how a model calls tools."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeResult:
    """The result of one probe; a probe that made no sense after the others is skipped."""

    name: str
    state: Literal["passed", "failed", "skipped"]
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelReport:
    """What a model was seen to do, and what follows from it."""

    model: str
    profile: Profile
    trust: str
    """What the model can be trusted with, in one phrase."""
    probes: tuple[ProbeResult, ...]
    tested_at: str
    """When it was tested, in ISO format."""
    tokens_per_s: float | None = None
    first_token_s: float | None = None

    @property
    def needs_constraint(self) -> bool:
        """Whether the model makes no native tool call, but keeps to a schema that has calls."""
        states = {probe.name: probe.state for probe in self.probes}
        return states.get(CALLS) == "failed" and states.get(SCHEMA) == "passed"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read a stored report.

        Raises:
            ValueError: It is not a report of this format.
        """
        if data.get("format") != _FORMAT or data.get("profile") not in PROFILES:
            message = "not a model report of this version"
            raise ValueError(message)
        fields = {name: data[name] for name in cls.__slots__ if name in data}
        probes = tuple(ProbeResult(**probe) for probe in data["probes"])
        return cls(**{**fields, "probes": probes})


class ProfileChoice(NamedTuple):
    """The profile of the main model, why it was chosen, and what the model can be trusted with."""

    profile: Profile
    chosen_by: str
    trust: str | None = None


def choose_profile(settings: ModelSettings) -> ProfileChoice:
    """Choose the profile of the main model: the setting, else the stored report, else `full`."""
    try:
        name = settings.choice("main").name
    except BathysphereError:
        return ProfileChoice("full", "the model is not configured")
    return profile_of(name, settings)


def profile_of(name: str, settings: ModelSettings) -> ProfileChoice:
    """Choose the profile of a model by its name."""
    report = load_report(name, settings)
    trust = report.trust if report else None
    if settings.profile != "auto":
        return ProfileChoice(settings.profile, f"{PREFIX}PROFILE", trust)
    if report is None:
        return ProfileChoice("full", UNTESTED.format(name=name))
    return ProfileChoice(report.profile, f"tested on {report.tested_at[:10]}", trust)


def needs_constraint(name: str, settings: ModelSettings) -> bool:
    """Whether a model with the lean profile must be constrained in order to call tools."""
    report = load_report(name, settings)
    is_lean = profile_of(name, settings).profile == "lean"
    return is_lean and report is not None and report.needs_constraint


def report_path(name: str, settings: ModelSettings) -> Path:
    """Where the report about a model is stored."""
    return settings.folder / "reports" / f"{quote(_full_name(name), safe='')}.json"


def load_report(name: str, settings: ModelSettings) -> ModelReport | None:
    """Load the report about a model; None if there is none that can be read."""
    try:
        text = report_path(name, settings).read_text(encoding="utf-8")
        return ModelReport.from_json(json.loads(text))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def save_report(report: ModelReport, settings: ModelSettings) -> Path:
    """Store a report, in place of an earlier one about the same model.

    Raises:
        ConfigError: The folder is not writable.
    """
    path = report_path(report.model, settings)
    text = json.dumps({"format": _FORMAT, **asdict(report)}, indent=2) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, suffix=".part", delete=False
        ) as part:
            part.write(text)
        Path(part.name).replace(path)
    except OSError as error:
        raise ConfigError(
            f"The report cannot be stored: {path}", hint=f"set {PREFIX}FOLDER to a folder of yours"
        ) from error
    return path


def _full_name(name: str) -> str:
    try:
        return str(parse(name))
    except BathysphereError:
        return name
