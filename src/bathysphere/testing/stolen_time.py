"""How much processor time the host of a virtual machine gives to others, which distorts figures."""

from pathlib import Path

_STAT = Path("/proc/stat")
_STOLEN = 7
"""Its place among user, nice, system, idle, iowait, irq, softirq, steal."""


class StolenTime:
    """The share of processor time that was stolen since this object was made; 0 except on Linux."""

    def __init__(self) -> None:
        self._began = _read_times()

    def share(self) -> float:
        """The share, from 0 to 1."""
        passed = [now - began for now, began in zip(_read_times(), self._began, strict=True)]
        return passed[_STOLEN] / sum(passed) if sum(passed) else 0.0


def _read_times() -> list[int]:
    if not _STAT.exists():
        return [0] * (_STOLEN + 1)
    with _STAT.open() as file:
        return [int(time) for time in file.readline().split()[1 : _STOLEN + 2]]
