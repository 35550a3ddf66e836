"""The extras of this package that install optional modules."""

from bathysphere.core.errors import ConfigError, missing_extra

EXTRA_BY_MODULE = {
    "coincurve": "payments",
    "font_source_sans_pro": "research",
    "http_ece": "push",
    "inspect_ai": "eval",
    "langchain_ollama": "ollama",
    "langchain_openai": "openai",
    "obstore": "storage",
    "opentelemetry.exporter": "otel",
    "opentelemetry.sdk": "otel",
    "py_vapid": "push",
    "pypdfium2": "research",
    "pytest": "testing",
    "reportlab": "research",
    "trafilatura": "research",
    "xllamacpp": "local",
}
"""By module name, or by its prefix if several packages share a namespace."""


def explain_missing_module(module: str, feature: str) -> ConfigError:
    """Create the error for a feature that failed because `module` cannot be imported."""
    for known, extra in EXTRA_BY_MODULE.items():
        if module == known or module.startswith(f"{known}."):
            return missing_extra(feature, extra)
    name = module.partition(".")[0]
    return ConfigError(
        f"This installation is incomplete: the Python module {name!r} is missing",
        hint="pip install --force-reinstall bathysphere",
    )
