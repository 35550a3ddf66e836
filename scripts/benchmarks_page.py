"""`make benchmarks`: run the quick benchmarks and write docs/benchmarks.md from what they print."""

import json
import os
import platform
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"


@dataclass(frozen=True)
class Benchmark:
    """A target whose last line is JSON, and what its figures mean."""

    title: str
    command: str
    text: str
    figures: dict[str, str]


BENCHMARKS = (
    Benchmark(
        "One step of an agent",
        "make bench-loop",
        "CPU of one iteration (a model call and a tool call, on a scripted model), beside the two"
        " libraries that it builds on, in turns in one process. The best of five rounds.",
        {
            "create_agent_ms": "LangChain's `create_agent`, ms",
            "deepagents_ms": "deepagents' `create_deep_agent`, ms",
            "bathysphere_ms": "Bathysphere, ms",
            "bathysphere_flow_ms": "Bathysphere with flow control, ms",
        },
    ),
    Benchmark(
        "Flow control",
        "make bench-flow",
        "What it costs to know where each value of a call came from, with tool results of 20 KiB.",
        {
            "call_ms": "to judge a call and read its result, ms (median)",
            "stored_half": "more bytes stored after 100 calls, as a share",
            "stored": "more bytes stored after 200 calls, as a share",
            "more_model_calls": "more model calls per run",
        },
    ),
    Benchmark(
        "Research with a lying model",
        "make bench-research QUESTIONS=20",
        "A scripted model answers questions on 320 generated documents, invents quotes and obeys"
        " what it reads.",
        {
            "questions": "questions",
            "quotes": "quotes in the reports",
            "quotes_valid": "of these in their source, byte for byte",
            "planted_bad": "false quotes that the model planted",
            "planted_caught": "of these caught",
            "deviations_tried": "calls beyond the approved plan that it tried",
            "deviations_passed": "of these that ran",
            "contradictions": "contradictions between sources",
            "contradictions_found": "of these shown",
        },
    ),
    Benchmark(
        "Forged proofs",
        "make tamper POSITIONS=300",
        "Single bytes of an exported proof are flipped, in every part of the file, and the proof is"
        " verified.",
        {
            "flipped": "bytes flipped, one at a time",
            "flipped_and_archive_mended": "of these also tried with the archive's checksums mended",
            "unnoticed": "forgeries that were verified",
        },
    ),
    Benchmark(
        "A charge in e-cash",
        "make bench-payments",
        "What it takes to charge a model call, beside a bare transaction of the same writes.",
        {
            "charge_ms": "a charge, ms",
            "transaction_ms": "the bare transaction, ms",
            "paid_calls": "calls that were paid for",
            "mint_requests": "requests to the mint while they ran",
        },
    ),
)
_NOTE = """# Benchmarks

Written by `make benchmarks`, never by hand: the quick benchmarks, as they ran on the machine named
here. What is compared within one benchmark ran at the same time on the same machine; the absolute
figures are worth less, because others may have used that machine too. The longer measurements are
in [faults.md](faults.md), [scale.md](scale.md) and [flow.md](flow.md), each with its command.
"""


def main() -> None:
    """Run the benchmarks, and write the page."""
    machine = _machine(os.getloadavg()[0])
    sections = [_section(benchmark, _run(benchmark.command)) for benchmark in BENCHMARKS]
    PAGE.write_text("\n".join((_NOTE, machine, *sections)), encoding="utf-8")
    print(f"Wrote {PAGE.relative_to(ROOT)}")


def _run(command: str) -> dict[str, Any]:
    print(command, flush=True)
    words = ["make", "--silent", "--no-print-directory", *command.split()[1:]]
    done = subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures


def _machine(load: float) -> str:
    commit = subprocess.check_output(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, text=True
    )
    rows = {
        "commit": f"`{commit.strip()}`",
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "load before": f"{load:.1f} processes wanted a core",
    }
    return _table("The machine", "", rows)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _section(benchmark: Benchmark, figures: dict[str, Any]) -> str:
    missing = set(benchmark.figures) - set(figures)
    if missing:
        raise ValueError(f"{benchmark.command} printed no {', '.join(sorted(missing))}: {figures}")
    rows = {text: f"{figures[name]:,}" for name, text in benchmark.figures.items()}
    return _table(benchmark.title, f"{benchmark.text}\n\n`{benchmark.command}`\n", rows)


def _table(title: str, text: str, rows: dict[str, str]) -> str:
    lines = (f"| {name} | {value} |" for name, value in rows.items())
    return "\n".join(
        (f"## {title}\n", *filter(None, [text]), "| what | figure |", "|---|---|", *lines, "")
    )


if __name__ == "__main__":
    main()
