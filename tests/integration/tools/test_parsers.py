"""Hostile pages are parsed in processes that can be killed; nobody else waits for them."""

import asyncio
import os
import sys
import time
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import pytest
from hostile_parsers import WRITTEN
from loopback import response, web

from bathysphere.core.clock import SystemClock
from bathysphere.tools.charsets import codec_of, decode, labels
from bathysphere.tools.errors import FetchFailed
from bathysphere.tools.fetch import Fetcher, FetchRules
from bathysphere.tools.pages import PageReader
from bathysphere.tools.parser_pool import ParseLimits, ParserPool
from bathysphere.tools.parsing_budget import (
    ParsingBudget,
    ParsingBudgetExceeded,
    ParsingQuota,
    Requester,
)
from bathysphere.tools.readable import MAX_TAGS

ARTICLE = b"<html><head><title>The reef</title></head><body><article>" + (
    b"<p>The reef is old, and it holds: so say all who have seen it from below.</p>" * 40
)
MANY_PARAGRAPHS = b"<html><body>" + b"<p>" * 600_000
DEEP = b"<html><body>" + b"<div><span>" * 60_000 + b"deep"
HERE = Path(__file__).parent
ADA, BOB = Requester("acme", "ada"), Requester("beta", "bob")


def children() -> set[int]:
    """The parser processes of this process that are there, dead ones that nobody waited for too."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            words = (stat.parent / "cmdline").read_bytes()
            if parent == os.getpid() and (not words or b"parser_process" in words):
                found.add(int(stat.parent.name))
    return found


def exists(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def eventually(is_so) -> None:
    for _ in range(200):
        if is_so():
            return
        await asyncio.sleep(0.05)
    raise TimeoutError


def has_written() -> bool:
    try:
        return WRITTEN.exists() and WRITTEN.stat().st_size > 0
    finally:
        WRITTEN.unlink(missing_ok=True)


@contextmanager
def pool(**limits):
    before = children()
    there = ParserPool(ParseLimits(**limits))
    try:
        yield there
    finally:
        there.close()
    deadline = time.monotonic() + 5
    while children() - before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert children() <= before, "a parser process was left behind"


@contextmanager
def hostile_pool(**limits):
    chosen = {"deadline_s": 2.0, "cpu_s": 2, "target": "hostile_parsers:obey", "preload": ()}
    with pool(**{**chosen, **limits}) as there:
        yield there


def read(there: ParserPool, body: bytes, **kwargs):
    return there.read(body, "text/html", None, "http://site.example/", **kwargs)


async def test_a_warm_process_is_used_again_and_its_cost_per_page_is_small(within):
    before = children()
    with pool() as there:
        there.warm_up()
        await eventually(lambda: children() - before)
        first = await read(there, ARTICLE)
        assert (first.title, "The reef is old" in first.text) == ("The reef", True)
        [warm] = children() - before
        took = []
        for _ in range(10):
            began = time.perf_counter()
            await read(there, ARTICLE)
            took.append(time.perf_counter() - began)
        assert children() - before == {warm}
        within(min(took), 0.1, took)


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ("loop", "too_complex"),
        ("sleep", "too_complex"),
        ("allocate", "too_complex"),
        ("crash", "too_complex"),
        ("fail", "unreadable"),
    ],
)
async def test_a_parser_that_misbehaves_is_ended_and_replaced(order, reason, within):
    with hostile_pool(memory=300 << 20) as there:
        fine = (await read(there, b"fine")).text
        began = time.monotonic()
        with pytest.raises(FetchFailed) as failed:
            await read(there, order.encode())
        assert failed.value.reason == reason
        within(time.monotonic() - began, 4)
        again = (await read(there, b"fine")).text
        assert (again != fine) or order == "allocate"  # a refused allocation leaves it as it was


async def test_a_process_has_no_environment_no_files_and_cannot_write(monkeypatch):
    monkeypatch.setenv("BATHYSPHERE_SECRET", "hush")
    with hostile_pool() as there:
        names, files = (await read(there, b"look")).text.split("|")
        assert set(names.split()) <= {"PYTHONPATH", "PYTHONUTF8", "LC_CTYPE"}
        assert int(files) <= 6
        with pytest.raises(FetchFailed):
            await read(there, b"write")
        assert not has_written()
        assert (await read(there, b"speak")).text.startswith("fine")


async def test_a_cancelled_request_kills_its_process_at_once():
    before = children()
    with hostile_pool(deadline_s=60.0, cpu_s=60) as there:
        asking = asyncio.create_task(read(there, b"loop"))
        await eventually(lambda: children() - before)
        await asyncio.sleep(0.3)
        busy = children() - before
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await eventually(lambda: not children() & busy)


async def test_a_process_ends_by_itself_when_its_parent_is_killed():
    script = (
        "import asyncio, sys; sys.path.insert(0, sys.argv[1])\n"
        "from bathysphere.tools.parser_pool import ParseLimits, ParserPool\n"
        "pool = ParserPool(ParseLimits(deadline_s=1.0, cpu_s=60,"
        " target='hostile_parsers:obey', preload=()))\n"
        "async def main():\n"
        "    print((await pool.read(b'fine', 'a', None, 'u')).text.split()[1], flush=True)\n"
        "    await asyncio.gather(pool.read(b'sleep', 'a', None, 'u'),"
        " pool.read(b'fine', 'a', None, 'u'))\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, str(HERE), stdout=asyncio.subprocess.PIPE
    )
    child = int(await parent.stdout.readline())
    await asyncio.sleep(0.3)
    parent.kill()
    await parent.wait()
    await eventually(lambda: not exists(child))


async def test_a_slow_page_is_put_behind_quick_ones():
    before = children()
    with hostile_pool(deadline_s=30.0, slow_s=0.2) as there:
        asking = asyncio.create_task(read(there, b"loop"))
        await eventually(lambda: children() - before)
        [busy] = children() - before
        await eventually(lambda: os.getpriority(os.PRIO_PROCESS, busy) == 19)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking


async def test_a_page_that_only_waits_keeps_its_priority():
    before = children()
    with hostile_pool(deadline_s=3.0, slow_s=0.2) as there:
        asking = asyncio.create_task(read(there, b"sleep"))
        await eventually(lambda: children() - before)
        [waiting] = children() - before
        await asyncio.sleep(1.0)
        assert os.getpriority(os.PRIO_PROCESS, waiting) == there.limits.nice
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking


async def test_the_page_after_a_slow_one_has_a_process_of_full_priority():
    with hostile_pool(deadline_s=30.0, slow_s=0.2) as there:
        slow = (await read(there, b"labour")).text
        assert (await read(there, b"fine")).text != slow


@asynccontextmanager
async def site():
    async with web() as server:
        rules = FetchRules(pinned={"site.example": f"127.0.0.1:{server.port}"})
        async with Fetcher(rules) as fetcher:
            yield server, PageReader(fetcher, SystemClock())


@pytest.mark.parametrize("charset", ["punycode", "idna", "undefined", "unicode_escape", "zlib"])
@pytest.mark.parametrize("kind", ["text/html", "text/plain"])
async def test_a_charset_that_is_not_one_of_the_web_is_read_as_utf_8(kind, charset, within):
    async with site() as (server, reader):
        body = (ARTICLE.decode() + "Grüße").encode() + b"<p>" + b"a-" * 40_000
        server.answers["/"] = response(body, kind=f"{kind}; charset={charset}")
        began = time.monotonic()
        snapshot = await reader.read("http://site.example/")
        assert "The reef is old" in snapshot.text
        within(time.monotonic() - began, 5)


async def test_a_page_of_600_000_paragraphs_is_refused_quickly(within):
    async with site() as (server, reader):
        server.answers["/"] = response(MANY_PARAGRAPHS, kind="text/html")
        began = time.monotonic()
        with pytest.raises(FetchFailed) as failed:
            await reader.read("http://site.example/")
        assert failed.value.reason == "too_complex"
        within(time.monotonic() - began, 5)


async def test_deep_and_wide_pages_below_the_bound_end_within_the_deadline(within):
    with pool(deadline_s=5.0, cpu_s=5) as there:
        for body in (DEEP, b"<table>" + b"<td>" * (MAX_TAGS - 10)):
            began = time.monotonic()
            try:
                await read(there, body, requester=Requester("t", str(began)))
            except FetchFailed as failed:
                assert failed.reason in ("too_complex", "unreadable", "no_text")
            within(time.monotonic() - began, 7)


def test_every_charset_of_the_standard_decodes_in_linear_time(within):
    assert len(labels()) > 200
    for codec in sorted(set(labels().values())):
        for seed in (b"a-", b"\x1b$B!", b"\x81\x30\x81\x30", b"\xff\xfe", b"\xa1"):
            began = time.process_time()
            (seed * (200_000 // len(seed))).decode(codec, "replace")
            within(time.process_time() - began, 1, codec, seed)


def test_labels_are_those_of_browsers():
    assert codec_of("ISO-8859-1 ") == codec_of("latin1") == "cp1252"
    assert codec_of("gb2312") == "gb18030"
    assert codec_of("rot13") == codec_of("") == codec_of(None) == "utf-8"
    assert decode(b"\xef\xbb\xbfa\xc3\xbc", "utf-16") == "aü"
    assert decode("a\u00fc".encode("utf-16"), None) == "aü"
    assert decode("日本".encode("shift_jis"), "x-sjis") == "日本"


async def test_one_person_waits_for_their_own_turn_only(within):
    before = children()
    quota = ParsingQuota(user_at_once=2, tenant_at_once=3)
    with hostile_pool(deadline_s=30.0, cpu_s=30, quota=quota) as there:
        busy = [asyncio.create_task(read(there, b"loop", requester=ADA)) for _ in range(4)]
        await asyncio.sleep(0.8)
        assert len(children() - before) == 2
        began = time.monotonic()
        assert (await read(there, b"fine", requester=BOB)).text.startswith("fine")
        within(time.monotonic() - began, 3)
        colleague = Requester("acme", "eve")
        assert (await read(there, b"fine", requester=colleague)).text.startswith("fine")
        for task in busy:
            task.cancel()
        await asyncio.gather(*busy, return_exceptions=True)


async def test_cpu_is_counted_per_person_and_per_tenant():
    quota = ParsingQuota(user_cpu=2.0, tenant_cpu=3.5)
    with hostile_pool(deadline_s=1.2, quota=quota) as there:
        with pytest.raises(FetchFailed):
            await read(there, b"loop", requester=ADA)  # 1.2 s, and 1 s for the next process
        with pytest.raises(ParsingBudgetExceeded) as refused:
            await read(there, b"fine", requester=ADA)
        assert "try again in" in refused.value.hint
        eve = Requester("acme", "eve")
        with pytest.raises(FetchFailed):
            await read(there, b"loop", requester=eve)
        with pytest.raises(ParsingBudgetExceeded):
            await read(there, b"fine", requester=Requester("acme", "new"))
        assert (await read(there, b"fine", requester=BOB)).text.startswith("fine")


async def test_a_budget_fills_up_again_and_forgets_who_owes_nothing():
    now = [0.0]
    budget = ParsingBudget(ParsingQuota(user_cpu=30, tenant_cpu=60), monotonic=lambda: now[0])
    budget.book(ADA, 40)
    with pytest.raises(ParsingBudgetExceeded):
        async with budget.turn(ADA):
            pass
    now[0] = 21
    async with budget.turn(ADA):
        pass
    for number in range(2_000):
        budget.book(Requester("t", str(number)), 0)
    assert len(budget._accounts) < 1_100
    assert not budget._turns
