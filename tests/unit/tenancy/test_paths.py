"""No path leads out of its root, whoever reads the key; five and more planted bugs are caught."""

import random
import sys
import types
from pathlib import Path

import attacks
import pytest
import walls
from hypothesis import given, settings
from hypothesis import strategies as st

from bathysphere.tenancy import paths, root
from bathysphere.tenancy.errors import InvalidPath, InvalidRoot
from bathysphere.tenancy.root import Root

ROOT = Root(tenant="company-1", workspace="ws")
EXAMPLES = 20_000


@pytest.mark.parametrize("path", attacks.KNOWN, ids=ascii)
def test_what_is_known_to_be_an_attack_is_refused(path):
    with pytest.raises(InvalidPath):
        ROOT.key(path)


@pytest.mark.parametrize("path", attacks.FINE, ids=ascii)
def test_a_plain_name_is_let_in(path):
    assert walls.check_path(ROOT, InvalidPath, path)


def test_no_generated_path_leads_out_of_the_root():
    paths = attacks.generated(EXAMPLES)
    assert len(paths) >= 20_000
    let_in = walls.check_all(ROOT, InvalidPath, paths)
    assert 200 < let_in < EXAMPLES  # the generator makes paths of both kinds


@settings(max_examples=1000, deadline=None)
@given(st.text(max_size=60) | st.text(alphabet="./\\%2eEfF5c~ \u202e．／a", max_size=30))
def test_no_text_leads_out_of_the_root(path):
    walls.check_path(ROOT, InvalidPath, path)


def test_the_short_way_for_plain_paths_lets_in_nothing_that_the_rules_refuse():
    letters = ["a", "B", "9", "_", "-", ".", " ", "/", "~", "%2e", "\\", "é", "\n"]
    dice, plain = random.Random(4), 0
    for _ in range(20_000):
        path = "/" + "".join(dice.choice(letters) for _ in range(dice.randint(1, 8)))
        if paths._PLAIN.match(path):
            plain += 1
            assert paths._segments(path.removeprefix("/")) == path[1:].split("/")
    assert plain > 500


def test_one_leading_slash_and_unicode_forms_are_one_file():
    assert ROOT.key("a/b") == ROOT.key("/a/b") == "company-1/ws/a/b"
    assert ROOT.key("/cafe\u0301") == ROOT.key("/café")


def test_a_folder_may_end_with_a_slash_and_be_the_root():
    assert ROOT.folder_key("/") == "company-1/ws"
    assert ROOT.folder_key("/a/") == ROOT.folder_key("/a") == "company-1/ws/a"
    for wrong in ("//", "/a//", "", "/../"):
        with pytest.raises(InvalidPath):
            ROOT.folder_key(wrong)


@pytest.mark.parametrize(
    "key",
    [
        "company-12/ws/x",
        "company-1/ws2/x",
        "company-1/ws",
        "company-1/ws/",
        "company-1/secret",
        "x/company-1/ws/x",
        "company-1/ws//x",
        "company-1/ws/../x",
        "company-1/ws/a\nb",
        "company-1/ws/cafe\u0301",
        "company-1/ws/dir/",
    ],
)
def test_a_key_that_no_path_leads_to_is_not_listed(key):
    assert ROOT.path(key) is None


def test_an_invalid_root_fails_closed():
    walls.check_roots(Root, InvalidRoot)


# ── planted bugs: each must be caught, or the tests above prove nothing ──

# What two rules refuse, two changes let in.
DOTS = ('not folded.strip(".")', "not folded")
MUTATIONS: dict[str, list[tuple[str, str]]] = {
    "dots are let in": [DOTS, ('or folded.endswith(".")', "")],
    "dots are not folded": [
        ('folded = unicodedata.normalize("NFKC", segment)', "folded = segment"),
    ],
    "an empty part is let in": [
        ("if not segment:", "if False:"),
        ('not folded.strip(".")', 'folded and not folded.strip(".")'),
    ],
    "empty parts are repaired": [
        ('segments = normal.split("/")', 'segments = [s for s in normal.split("/") if s] or ["_"]')
    ],
    "paths are repaired as deepagents does": [
        (
            'normal = unicodedata.normalize("NFC", relative)',
            'normal = __import__("posixpath").normpath(relative)',
        )
    ],
    "a backslash is let in": [('if "\\\\" in text:', "if False:"), ('or "\\\\" in folded', "")],
    "unseen characters are let in": [("in _UNSEEN:", "in ():")],
    "format characters are let in": [('"Cc", "Cf", "Cs"', '"Cc", "Cs"')],
    "NFC is forgotten": [('unicodedata.normalize("NFC", relative)', "relative")],
    "look-alikes are let in": [("or _LOOKS_LIKE_A_SEPARATOR & set(folded)", "")],
    "folded separators are let in": [('"/" in folded or', "")],
    "encoded dots are let in": [("if _ENCODED.search(folded):", "if False:")],
    "encoded dots in capitals are let in": [(", re.IGNORECASE", "")],
    "a trailing dot is let in": [('or folded.endswith(".")', "")],
    "a trailing space is let in": [("folded != folded.strip() or", "")],
    "a home folder is let in": [('if segment.startswith("~"):', "if False:")],
    "a part may be long": [("> MAX_SEGMENT_BYTES", "> 9999")],
    "a key may be long": [("len(key.encode()) > MAX_KEY_BYTES", "False")],
    "a listed key is not checked": [("if canonical(path) == path else None", "")],
    "a root ends at a line": [('?\\Z")', '?$")')],
    "a root may have dots": [("[A-Za-z0-9_-]{0,62}", "[A-Za-z0-9_.-]{0,62}")],
}


def mutant(changes: list[tuple[str, str]]) -> types.SimpleNamespace:
    """The path rules with a bug in them, in modules of their own."""
    left, made = list(changes), {}
    for module in (paths, root):
        code = Path(module.__file__).read_text(encoding="utf-8")
        for before, after in changes:
            if before in code:
                code = code.replace(before, after)
                left.remove((before, after))
        copy = types.ModuleType(f"mutant_{module.__name__.rpartition('.')[2]}")
        code = code.replace("bathysphere.tenancy.paths", "mutant_paths")
        sys.modules[copy.__name__] = copy
        exec(compile(code, copy.__name__, "exec"), copy.__dict__)
        made[copy.__name__] = copy
    for name in made:
        del sys.modules[name]
    assert not left, f"nothing to change: {left}"
    return types.SimpleNamespace(Root=made["mutant_root"].Root)


def survives(changed: types.SimpleNamespace) -> bool:
    try:
        made = changed.Root(tenant="company-1", workspace="ws")
        walls.check_all(made, InvalidPath, [*attacks.KNOWN, *attacks.generated(4000)])
        walls.check_all(made, InvalidPath, attacks.FINE)
        for path in attacks.KNOWN:
            if walls.check_path(made, InvalidPath, path):
                return False
        for key in ("company-1/ws2/x", "company-12/ws/x", "company-1/ws/cafe\u0301"):
            walls.hold(made.path(key) is None, key, "a foreign key is listed")
        walls.check_roots(changed.Root, InvalidRoot)
    except (walls.Broken, UnicodeEncodeError):
        return False
    return True


def test_the_rules_as_they_are_survive():
    assert survives(types.SimpleNamespace(Root=Root))


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_planted_bug_is_caught(name):
    assert not survives(mutant(MUTATIONS[name]))
