"""Every regular expression of the package takes linear time, whatever text it is given.

All patterns are found: compiled ones in the modules' globals, literal ones in calls of `re`. Each
is tried on texts pumped from its own parts and from a fixed list; where that takes long, again at
one length and at ten times that.
"""

import ast
import importlib
import itertools
import re
import signal
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from re import _constants as op
from re import _parser

import pytest

SRC = Path(__file__).parents[2] / "src"
SHORT, LONG = 8_000, 80_000
FAST_S = 0.01
"""Quadratic time at the short length is several times this; most texts end here."""
WORST_RATIO = 40
"""Ten times the length takes 10 times as long if linear, 100 times if quadratic."""
CLEARLY_LINEAR = 20
"""Eight times the length takes 8 times as long if linear, 64 times if quadratic."""
SLOW_S = 0.2
STUCK_S = 1.5

CALLS = {"compile", "sub", "subn", "match", "search", "fullmatch", "findall", "finditer", "split"}
NOT_LITERAL = {"bathysphere/policy/rules.py", "bathysphere/policy/audit.py"}
"""Modules that compile what the operator wrote in POLICY.md."""

Seed = tuple[str, str, str]
"""What comes before, what is repeated, what comes after."""


# ── finding them ──


def module_name(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def values_in(value: object) -> Iterator[re.Pattern]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from values_in(inner)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from values_in(inner)


def flags_of(node: ast.Call) -> int:
    flags = 0
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and inner.attr.isupper() and hasattr(re, inner.attr):
            flags |= getattr(re, inner.attr)
    return flags


def calls_of_re(path: Path) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in CALLS
        and node.args
    ]


def literal_patterns(path: Path) -> Iterator[tuple[re.Pattern, str]]:
    for call in calls_of_re(path):
        first = call.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str | bytes):
            yield re.compile(first.value, flags_of(call)), call.func.attr


def methods_by_name(path: Path) -> dict[str, set[str]]:
    """How each global name is used: `_WORD.findall(…)`."""
    used = defaultdict(set)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used[node.value.id].add(node.attr)
    return used


ANCHORED = {"match", "fullmatch"}


def how_used(methods: set[str]) -> str:
    """`fullmatch` or `match` where nothing else is done with it, else `finditer`."""
    calls = methods & CALLS
    if calls == {"fullmatch"}:
        return "fullmatch"
    return "match" if calls and calls <= ANCHORED else "finditer"


def patterns_of(path: Path) -> dict[tuple[re.Pattern, str], None]:
    found = {}
    used = methods_by_name(path)
    for name, value in vars(importlib.import_module(module_name(path))).items():
        for pattern in values_in(value):
            found[pattern, how_used(used.get(name, set()))] = None
    compiled = {pattern for pattern, _ in found}
    for pattern, call in literal_patterns(path):
        if pattern not in compiled:
            found[pattern, how_used({call} - {"compile"})] = None
    return found


MODULES = [
    path for path in sorted(SRC.rglob("*.py")) if "import re\n" in path.read_text(encoding="utf-8")
]


# ── texts made from them ──

FIXED = (
    *("a", " ", "\n", "\t", "0", "1,", "1.000,", "1 ", "a.", "a-", "a ", "A ", "Aa ", ".", "!"),
    *("! ", "?", "…", "-", "_", "/", "//a", "\\", "`", "```", '"', "'", "“", "«", "(", "[", "[1"),
    *("{", "<", "<think>", "<source id=", "\n\n", "\n \n", " \n", "a\n", "@", "a@", "a@a.", "+1"),
    *("%2e", "é", "日", "\u200b", "\x00", "\U0001f600", "http://a", "'s", "not ", "n't"),
)
ENDS = ("", "!", "\x00", "\n", " a")


def char_of(items: list) -> str:
    """A character of a set; of a negated one, a usual character that is not in it."""
    if items and items[0][0] is op.NEGATE:
        inside = re.compile(f"[{re.escape(chars_of(items[1:]))}]") if chars_of(items[1:]) else None
        usual = "a 0.\n-\"'é"
        return next((c for c in usual if inside is None or not inside.match(c)), "\x01")
    return chars_of(items)[:1] or "a"


CATEGORIES = {
    op.CATEGORY_DIGIT: "0",
    op.CATEGORY_SPACE: " \n",
    op.CATEGORY_WORD: "a0",
    op.CATEGORY_NOT_DIGIT: "a",
    op.CATEGORY_NOT_SPACE: "a.",
    op.CATEGORY_NOT_WORD: " ",
}


def chars_of(items: list) -> str:
    chars = ""
    for kind, value in items:
        if kind is op.LITERAL:
            chars += chr(value)
        elif kind is op.RANGE:
            chars += chr(value[0])
        elif kind is op.CATEGORY:
            chars += CATEGORIES[value]
    return chars


REPEATS = {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}


def example(parsed) -> str:
    """A short text that fits, roughly: it need not match, only come close."""
    return "".join(example_of(kind, value) for kind, value in parsed)


def example_of(kind, value) -> str:
    if kind is op.LITERAL:
        return chr(value)
    if kind is op.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if kind is op.ANY:
        return "a"
    if kind is op.IN:
        return char_of(value)
    if kind is op.BRANCH:
        return example(value[1][0])
    if kind is op.SUBPATTERN:
        return example(value[3])
    if kind is op.ATOMIC_GROUP:
        return example(value)
    if kind in REPEATS:
        return example(value[2]) * max(1, value[0])
    return ""


def inner_of(kind, value) -> list:
    if kind is op.BRANCH:
        return list(value[1])
    if kind is op.SUBPATTERN:
        return [value[3]]
    if kind is op.ATOMIC_GROUP:
        return [value]
    if kind in REPEATS:
        return [value[2]]
    if kind in (op.ASSERT, op.ASSERT_NOT):
        return [value[1]]
    return []


def pumps(parsed, before: str = "") -> Iterator[tuple[str, str]]:
    """What comes before each repeated part, and the part."""
    for kind, value in parsed:
        if kind in REPEATS:
            yield before, example(value[2])
            if value[2] and value[2][0][0] is op.IN and value[2][0][1][0][0] is not op.NEGATE:
                yield from ((before, char) for char in chars_of(value[2][0][1])[:4])
        for inner in inner_of(kind, value):
            yield from pumps(inner, before)
        before += example_of(kind, value)


def seeds_of(pattern: re.Pattern) -> set[Seed]:
    source = pattern.pattern
    text = source if isinstance(source, str) else source.decode("latin-1")
    parsed = _parser.parse(text, pattern.flags & ~re.DEBUG)
    found = {("", unit, "") for unit in FIXED} | {("", example(parsed) or "a", "\x00")}
    repeated = list(pumps(parsed))
    for before, unit in repeated:
        found |= {(before, unit, end) for end in ENDS} | {("", before + unit, "\x00")}
    units = list(dict.fromkeys(unit for _, unit in repeated))[:5]
    found |= {("", one + other, "\x00") for one, other in itertools.permutations(units, 2)}
    return {seed for seed in found if seed[1]}


# ── timing ──


class Stuck(Exception):
    """It took so long that it was interrupted."""


@contextmanager
def interrupted_after(seconds: float):
    def stop(*_):
        raise Stuck

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def seconds(pattern: re.Pattern, how: str, seed: Seed, length: int) -> float:
    before, unit, after = seed
    text = before + unit * (length // len(unit)) + after
    given = text if isinstance(pattern.pattern, str) else text.encode("utf-8", "replace")
    began = time.process_time()
    found = getattr(pattern, how)(given)
    if how == "finditer":
        for _ in found:
            pass
    return time.process_time() - began


def worst_of(pattern: re.Pattern, how: str) -> str | None:
    """The text that takes too long, or nothing."""
    for seed in sorted(seeds_of(pattern)):
        try:
            with interrupted_after(STUCK_S):
                took = seconds(pattern, how, seed, SHORT)
                if took < FAST_S:
                    continue
                eighth = min(seconds(pattern, how, seed, SHORT // 8) for _ in range(3))
                if took < CLEARLY_LINEAR * eighth:
                    continue
                long = seconds(pattern, how, seed, LONG)
                if long < SLOW_S:
                    continue
                # Linear time is slow only while the machine is busy: then a second try is not.
                long = min(long, seconds(pattern, how, seed, LONG))
                short = min(seconds(pattern, how, seed, LONG // 10) for _ in range(3))
        except Stuck:
            return f"{seed} takes more than {STUCK_S} s"
        if long > SLOW_S and long > WORST_RATIO * short:
            return f"{seed}: {short * 1e3:.2f} ms, ten times as long: {long * 1e3:.0f} ms"
    return None


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SRC).as_posix())
def test_no_pattern_takes_more_than_linear_time(path):
    found = {pattern: worst_of(pattern, how) for pattern, how in patterns_of(path)}
    assert {pattern.pattern: why for pattern, why in found.items() if why} == {}


ONE_CHARACTER = {op.ANY, op.IN, op.LITERAL, op.NOT_LITERAL}


def possessive_groups(parsed) -> Iterator[object]:
    for kind, value in parsed:
        if kind is op.POSSESSIVE_REPEAT and value[2][0][0] not in ONE_CHARACTER:
            yield value
        for inner in inner_of(kind, value):
            yield from possessive_groups(inner)


def has_possessive_group(pattern: re.Pattern) -> bool:
    source = pattern.pattern
    text = source if isinstance(source, str) else source.decode("latin-1")
    return any(possessive_groups(_parser.parse(text, pattern.flags & ~re.DEBUG)))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SRC).as_posix())
def test_only_single_characters_are_repeated_possessively(path):
    """Until Python 3.11.4, as in Debian 12, a group that is repeated so matches other text."""
    assert [one.pattern for one, _ in patterns_of(path) if has_possessive_group(one)] == []


def test_a_possessive_group_would_be_found():
    assert has_possessive_group(re.compile(r"a(?:b|(?:[^c]++|d)*+)"))
    assert not has_possessive_group(re.compile(r"(?:a++|[bc]*+)*\.?+"))


def names_of_re(path: Path) -> set[str]:
    """Whatever a module imports of `re`, and under which name; `regex` is as good as `re`."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {
                f"{one.name} as {one.asname or one.name}"
                for one in node.names
                if one.name.partition(".")[0] in ("re", "regex", "sre_compile")
            }
        elif isinstance(node, ast.ImportFrom) and node.module in ("re", "regex"):
            found.add(f"from {node.module}")
    return found


def test_the_patterns_are_found():
    assert {name for path in SRC.rglob("*.py") for name in names_of_re(path)} == {"re as re"}
    assert set(MODULES) == {path for path in SRC.rglob("*.py") if names_of_re(path)}
    assert len(MODULES) > 40


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SRC).as_posix())
def test_every_call_s_pattern_is_among_them(path):
    """Literals by their text; what is put together, by a global for each: none inside functions."""
    literal = {pattern.pattern for pattern, _ in literal_patterns(path)}
    found = {pattern.pattern for pattern, _ in patterns_of(path)}
    assert literal <= found
    calls = [call for call in calls_of_re(path) if isinstance(call.args[0], ast.JoinedStr)]
    escaped = [call for call in calls if "re.escape(" in ast.unparse(call.args[0])]
    assert len(found - literal) >= len(calls) - len(escaped)


def test_every_pattern_is_a_literal_or_set_by_the_operator():
    unknown = {
        str(path.relative_to(SRC))
        for path in SRC.rglob("*.py")
        for call in calls_of_re(path)
        if not isinstance(call.args[0], ast.Constant | ast.JoinedStr)
        # A pattern with parts put in is found where it is compiled: in a global.
    }
    assert unknown == NOT_LITERAL


@pytest.mark.parametrize(
    ("pattern", "how"),
    [
        (r"[^.!?]*[^\s.!?](?:\.\d+[^.!?]*)*[.!?](?=\s|$)", "finditer"),  # exponential
        (r"[.!?]+(?=\s|$)", "finditer"),
        (r"\s*\[\d+\]", "finditer"),
        (r"<think>.*?</think>", "finditer"),
        (r"(?:a|aa)+$", "match"),
        (r"(\w+\s?)*!", "fullmatch"),
        (r"[\w.+-]+@[\w-]+\.[\w.-]+", "finditer"),
    ],
)
def test_a_slow_pattern_would_be_found(pattern, how):
    assert worst_of(re.compile(pattern, re.DOTALL), how)
