"""A folder as a place of documents: what is shared of it, and that nothing else is reached."""

import os
import stat

import pytest

from bathysphere.core.errors import ConfigError
from bathysphere.device import folder as folders
from bathysphere.device.documents import (
    DocumentChanged,
    DocumentError,
    MemoryDocuments,
    NoDocuments,
    version_of,
)
from bathysphere.device.folder import FolderDocuments


@pytest.fixture
def outside(tmp_path):
    """A folder beside the shared one, with a secret in it."""
    place = tmp_path / "outside"
    place.mkdir()
    (place / "secret.md").write_text("hush")
    return place


@pytest.fixture
def root(tmp_path, outside):
    place = tmp_path / "notes"
    (place / "essays").mkdir(parents=True)
    (place / "money.md").write_text("Money is trust.\n")
    (place / "essays" / "gold.txt").write_text("Gold glitters.\n")
    return place


@pytest.fixture
def documents(root):
    return FolderDocuments(root)


def ids(documents):
    return [document.id for document in documents.all().documents]


# ── what is shared ──


def test_text_files_are_shared_by_their_path_and_nothing_else_is(root, documents, outside):
    (root / ".env").write_text("KEY=1")
    (root / ".git").mkdir()
    (root / ".git" / "config.md").write_text("x")
    (root / "picture.png").write_bytes(b"\x89PNG\0\0")
    (root / "latin.txt").write_bytes(b"caf\xe9")
    (root / "huge.md").write_bytes(b"x" * (folders.MAX_BYTES + 1))
    (root / "link.md").symlink_to(outside / "secret.md")
    (root / "linked").symlink_to(outside)
    os.mkfifo(root / "pipe.md")
    (root / os.fsdecode(b"caf\xe9.md")).write_text("x")
    assert ids(documents) == ["essays/gold.txt", "money.md"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../outside/secret.md", "Not a document in the shared folder"),
        ("essays/../../outside/secret.md", "Not a document in the shared folder"),
        ("essays/../money.md", "Not a document in the shared folder"),
        ("./money.md", "Not a document in the shared folder"),
        ("/etc/passwd", "Not a document in the shared folder"),
        ("essays//gold.txt", "Not a document in the shared folder"),
        ("..\\outside\\secret.md", "Not a document in the shared folder"),
        ("money.md\0", "Not a document in the shared folder"),
        ("money.md\n", "Not a document in the shared folder"),
        ("\ud800.md", "Not a document in the shared folder"),
        ("", "Not a document in the shared folder"),
        (".env", "Not a document in the shared folder"),
        (".git/config.md", "Not a document in the shared folder"),
        ("link.md", "Not a document in the shared folder"),
        ("linked/secret.md", "Not a document in the shared folder"),
        ("essays", "Document not found"),
        ("money.md/x", "Not a directory"),
        ("gone.md", "Document not found"),
        ("pipe.md", "Document not found"),
        ("picture.png", "Not a text file"),
        ("latin.txt", "Not UTF-8 text"),
        ("huge.md", "is larger than 1,000,000 bytes"),
        ("x" * 300, "File name too long"),
    ],
)
def test_what_is_not_shared_cannot_be_read_or_changed(root, documents, outside, name, why):
    (root / ".env").write_text("KEY=1")
    (root / ".git").mkdir()
    (root / ".git" / "config.md").write_text("x")
    (root / "picture.png").write_bytes(b"\x89PNG\0\0")
    (root / "latin.txt").write_bytes(b"caf\xe9")
    (root / "huge.md").write_bytes(b"x" * (folders.MAX_BYTES + 1))
    (root / "link.md").symlink_to(outside / "secret.md")
    (root / "linked").symlink_to(outside)
    os.mkfifo(root / "pipe.md")
    with pytest.raises(DocumentError, match=why):
        documents.read(name)
    with pytest.raises(DocumentError, match=why):
        documents.replace(name, "new", base_version=version_of("hush"))
    assert (outside / "secret.md").read_text() == "hush"
    assert str(root) not in why


def test_a_file_that_is_not_there_is_no_folder_to_share(root):
    with pytest.raises(ConfigError, match="Folder not found"):
        FolderDocuments(root / "money.md")


def test_a_folder_with_too_many_documents_says_that_there_are_more(root, documents, monkeypatch):
    monkeypatch.setattr(folders, "MAX_DOCUMENTS", 1)
    shelf = documents.all()
    assert (len(shelf.documents), shelf.truncated) == (1, True)


# ── writing ──


def test_line_ends_and_the_file_mode_stay_as_they_were(root, documents):
    path = root / "money.md"
    path.write_bytes(b"one\r\ntwo\r\n")
    path.chmod(0o640)
    document = documents.read("money.md")
    assert document.text == "one\r\ntwo\r\n"
    documents.replace("money.md", "one\r\n2\r\n", base_version=document.version)
    assert path.read_bytes() == b"one\r\n2\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_write_that_fails_leaves_the_document_whole_and_nothing_beside_it(
    root, documents, monkeypatch
):
    document = documents.read("money.md")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folders.os, "fsync", full)
    with pytest.raises(DocumentError, match="No space left on device"):
        documents.replace("money.md", "half", base_version=document.version)
    with pytest.raises(DocumentError, match="No space left on device"):
        documents.create("new.md", "half")
    assert (root / "money.md").read_text() == "Money is trust.\n"
    assert sorted(path.name for path in root.iterdir()) == ["essays", "money.md"]


def test_an_edit_while_the_change_is_written_is_not_lost(root, documents, monkeypatch):
    document = documents.read("money.md")
    real = folders.os.fsync

    def edited_meanwhile(handle):
        (root / "money.md").write_text("The person's own words.\n")
        real(handle)

    monkeypatch.setattr(folders.os, "fsync", edited_meanwhile)
    with pytest.raises(DocumentChanged):
        documents.replace("money.md", "the agent's words", base_version=document.version)
    assert (root / "money.md").read_text() == "The person's own words.\n"


@pytest.mark.parametrize(
    ("title", "file_type", "name"),
    [
        ("Bitcoin Thesis", "markdown", "Bitcoin Thesis.md"),
        ("Log", "text", "Log.txt"),
        ("Log", "poem", "Log.md"),
        ("notes.txt", "markdown", "notes.txt"),
        ("essays/Silver", "markdown", "essays/Silver.md"),
        (" spaced ", "markdown", "spaced.md"),
    ],
)
def test_a_new_document_has_its_title_as_a_name(root, documents, title, file_type, name):
    assert documents.place(title, file_type) == name
    documents.create(name, "New.\n")
    assert (root / name).read_text() == "New.\n"
    with pytest.raises(DocumentError, match="already"):
        documents.place(title, file_type)


@pytest.mark.parametrize(
    ("title", "why"),
    [
        ("../escape", "Not a document in the shared folder"),
        ("/tmp/escape", "Not a document in the shared folder"),
        (".profile", "Not a document in the shared folder"),
        ("linked/escape", "Not a document in the shared folder"),
        ("run.sh", "Unsupported extension"),
        ("conftest.py", "Unsupported extension"),
        ("nowhere/x", "Folder not found: 'nowhere'"),
        ("money.md", "already"),
        ("dangling.md", "Not a document in the shared folder"),
    ],
)
def test_a_new_document_is_not_made_where_it_may_not_be(root, documents, outside, title, why):
    (root / "linked").symlink_to(outside)
    (root / "dangling.md").symlink_to(outside / "new.md")
    with pytest.raises(DocumentError, match=why):
        documents.place(title, "markdown")
    assert [path.name for path in outside.iterdir()] == ["secret.md"]


# ── every place of documents ──


@pytest.fixture(params=["memory", "folder"])
def place(request, tmp_path):
    if request.param == "memory":
        return MemoryDocuments({"a.md": "one\n"})
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / "a.md").write_text("one\n")
    return FolderDocuments(tmp_path / "place")


def test_a_change_is_bound_to_a_version(place):
    before = place.read("a.md")
    after = place.replace("a.md", "two\n", base_version=before.version)
    assert place.read("a.md") == after
    assert after.version != before.version
    with pytest.raises(DocumentChanged):
        place.replace("a.md", "three\n", base_version=before.version)
    assert place.read("a.md").text == "two\n"


def test_the_same_text_again_is_the_same_version(place):
    first = place.read("a.md")
    second = place.replace("a.md", "two\n", base_version=first.version)
    third = place.replace("a.md", "one\n", base_version=second.version)
    assert third.version == first.version


def test_a_new_document_replaces_no_other(place):
    assert place.create(place.place("b.md", "markdown"), "b\n").text == "b\n"
    with pytest.raises(DocumentError, match="already"):
        place.create("a.md", "mine")
    assert ids(place) == ["a.md", "b.md"]
    assert place.read("a.md").text == "one\n"


def test_where_nothing_is_shared_everything_says_so():
    nothing = NoDocuments()
    for ask in (
        nothing.all,
        lambda: nothing.read("a"),
        lambda: nothing.place("a", "text"),
        lambda: nothing.create("a", "x"),
        lambda: nothing.replace("a", "x", base_version="1"),
    ):
        with pytest.raises(DocumentError, match="No documents are shared"):
            ask()
