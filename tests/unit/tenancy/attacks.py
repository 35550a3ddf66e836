"""Paths that try to get out, and what a server, a proxy or a disk may read in a key."""

import posixpath
import random
import unicodedata
from urllib.parse import unquote

# The list of the facts, then what the generator builds on.
KNOWN = [
    "",
    "/",
    "//",
    ".",
    "..",
    "/..",
    "../",
    "/../company-2/ws/x",
    "../../company-2/secret",
    "a/../../b",
    "a/./b",
    "a//b",
    "//etc/passwd",
    "/a/",
    "~",
    "~/x",
    "a/~root",
    "\x00",
    "a\x00b",
    "a\nb",
    "a\r\nb",
    "a\tb",
    "a\x7fb",
    "a\x85b",
    "\\",
    "..\\..\\company-2\\x",
    "t1\\..\\t2",
    "%2e%2e/%2e%2e/company-2/x",
    "%2E%2E%2Fcompany-2",
    "a%2fb",
    "a%5cb",
    "a%00",
    "．．/x",
    "a／..／b",
    "‥/x",
    "…/x",
    "․․/x",
    "%２e%２e/x",
    "a\u2215..\u2215b",
    "a\u2044b",
    "℀",
    "a\u202egnp.exe",
    "a\u200bb",
    "\ufeffa",
    "a\u2028b",
    "a\u2029b",
    "\ud800",
    "a\udfffb",
    "\ue000",
    "\uffff",
    "\U0010ffff",
    " a",
    "a ",
    "a.",
    "a/ /b",
    "a\u00a0",
    "a/b.",
    "x" * 256,
    "é" * 128,
    "/".join(["x" * 200] * 6),
    "/".join(["x" * 255] * 4),
    "ﷺ" * 300,
]
FINE = [
    "a",
    "/a",
    "/notes/2026/plan.md",
    "/.env",
    "/.github/workflows/ci.yml",
    "/a..b",
    "/...a",
    "/café",
    "/cafe\u0301",
    "/日本語.txt",
    "/100%.md",
    "/50%25",
    "/a b.txt",
    "/[draft]*?.md",
    "/😀.md",
    "/x#y",
    "/README",
    "/" + "x" * 255,
]
_PARTS = [
    *"/./.\\%~ ",
    "..",
    "//",
    "%2e",
    "%2F",
    "%5c",
    "%00",
    "company-1",
    "company-12",
    "company-2",
    "ws",
    "ws2",
    "secret",
    "\u0301",
    "\u0338",
    "é",
    "．",
    "／",
    "＼",
    "％",
    "‥",
    "\u2024",
    "\u2215",
    "\u202e",
    "\u200b",
    "\u00a0",
    "\x00",
    "\n",
    "\x7f",
    "\ud800",
    "\uffff",
    "a",
    "B.md",
    "~",
    "x" * 130,
]


def generated(count: int, seed: int = 8) -> list[str]:
    """So many paths, the same each time: nasty parts put together, and plain random text."""
    dice = random.Random(seed)
    paths = []
    for _ in range(count):
        if dice.random() < 0.15:
            points = [dice.randrange(0x110000) for _ in range(dice.randint(1, 6))]
            paths.append("".join(map(chr, points)))
        else:
            paths.append("".join(dice.choice(_PARTS) for _ in range(dice.randint(1, 9))))
    return paths


def readings(key: str) -> list[str]:
    """What somebody further down may take a key for."""
    folded = unicodedata.normalize("NFKC", key)
    lookalikes = folded.translate(dict.fromkeys(map(ord, "\u2044\u2215\u29f8\u2571\u29f9"), "/"))
    unseen = "".join(c for c in key if unicodedata.category(c)[0] not in "CZ" or c == " ")
    texts = [key, unquote(key), unquote(unquote(key)), folded, unquote(folded), lookalikes, unseen]
    texts += [text.replace("\\", "/") for text in texts]
    texts += ["/".join(part.rstrip(". ") or part for part in text.split("/")) for text in texts]
    texts += [text.partition("\x00")[0] for text in texts]
    return [posixpath.normpath(text) for text in texts]
