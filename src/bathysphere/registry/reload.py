"""Import a project's modules again after its files changed, for `bathysphere dev`.

All modules of the project are imported again together, so that none refers to an old one.
"""

import importlib
import linecache
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

_INSTALLED = "site-packages"


@contextmanager
def fresh_modules(folders: Iterable[Path]) -> Iterator[None]:
    """Import the modules in these folders again; if that fails, the former ones stay."""
    roots = [folder.resolve() for folder in folders]
    former = _modules_in(roots)
    _forget(former)
    importlib.invalidate_caches()
    linecache.checkcache()
    try:
        yield
    except BaseException:
        _forget(_modules_in(roots))
        sys.modules.update(former)
        raise


def _modules_in(roots: list[Path]) -> dict[str, ModuleType]:
    return {
        name: module for name, module in sys.modules.copy().items() if _is_inside(module, roots)
    }


def _is_inside(module: ModuleType, roots: list[Path]) -> bool:
    if module.__name__ == "__main__" or module.__name__.partition(".")[0] == "bathysphere":
        return False
    file = getattr(module, "__file__", None)
    if file is None:  # a folder without `__init__.py`
        file = next(iter(getattr(module, "__path__", ())), None)
    if not isinstance(file, str) or _INSTALLED in Path(file).parts:
        return False
    return any(Path(file).is_relative_to(root) for root in roots)


def _forget(modules: Iterable[str]) -> None:
    for name in list(modules):
        sys.modules.pop(name, None)
