"""Contract tests for file backends. Subclass and provide a `backend` fixture.

The backend must be empty. `BackendContract` covers what an agent's file tools rely on;
`SharedBackendContract` adds concurrent writes by many agents.
"""

import asyncio
import base64
import threading

from deepagents.backends.protocol import BackendProtocol, ReadResult

BAD_PATHS = (
    "/../x",
    "/a/../../x",
    "/./x",
    "//x",
    "/",
    "",
    "/x\0y",
    "/x\ny",
    "/x\u202ey",
    "/\ud800",
    "/..\\x",
    "/a\\..\\..\\x",
    "/%2e%2e/x",
    "/．．/x",
    "/" + "x" * 300,
    "/~/x",
)
"""Invalid paths; a backend returns an error result for them."""


def text_of(result: ReadResult) -> str:
    """The text of a read result; fails the test on an error."""
    assert result.error is None, result.error
    assert result.file_data is not None
    return result.file_data["content"]


def is_there(backend: BackendProtocol, path: str) -> bool:
    """Whether a file can be read."""
    return backend.read(path).error is None


class BackendContract:
    """The contract of file backends."""

    # ── writing and reading ──

    def test_what_is_written_is_read(self, backend: BackendProtocol) -> None:
        """The same text, with or without a newline at its end."""
        for text in ("one line", "two\nlines", "ended\n", "ünï→😀\n", "\n\ngap\n"):
            assert backend.write("/notes/a.md", text).error is None
            assert text_of(backend.read("/notes/a.md")) == text

    def test_writing_again_overwrites(self, backend: BackendProtocol) -> None:
        """`write` replaces the whole file."""
        backend.write("/a", "first")
        assert backend.write("/a", "second").error is None
        assert text_of(backend.read("/a")) == "second"

    def test_an_empty_file_can_be_read(self, backend: BackendProtocol) -> None:
        """Its text is empty."""
        assert backend.write("/empty", "").error is None
        assert text_of(backend.read("/empty")) == ""

    def test_a_missing_file_is_a_result(self, backend: BackendProtocol) -> None:
        """The model can react to the error."""
        assert backend.read("/nowhere").error
        assert backend.edit("/nowhere", "a", "b").error

    def test_a_window_says_where_it_is(self, backend: BackendProtocol) -> None:
        """The result includes the next offset."""
        backend.write("/a", "".join(f"line {n}\n" for n in range(10)))
        window = backend.read("/a", offset=2, limit=3)
        assert text_of(window) == "line 2\nline 3\nline 4\n"
        assert (window.start_line, window.end_line, window.next_offset) == (3, 5, 5)
        last = backend.read("/a", offset=8, limit=5)
        assert text_of(last) == "line 8\nline 9\n"
        assert (last.start_line, last.end_line, last.next_offset) == (9, 10, None)

    def test_a_degenerate_window_does_not_raise(self, backend: BackendProtocol) -> None:
        """A negative offset is the start, limit 0 returns no lines, past the end is an error."""
        backend.write("/a", "one\ntwo\n")
        assert text_of(backend.read("/a", offset=-5)) == "one\ntwo\n"
        assert backend.read("/a", limit=0).no_lines_requested
        assert backend.read("/a", offset=99).error

    def test_a_line_ends_with_a_newline_only(self, backend: BackendProtocol) -> None:
        """Form feeds and line separators are part of a line; otherwise edits would not match."""
        backend.write("/a", "one\x0cstill one\u2028still\ntwo\n")
        assert text_of(backend.read("/a", offset=1)) == "two\n"

    def test_a_name_in_two_unicode_forms_is_one_file(self, backend: BackendProtocol) -> None:
        """Otherwise a person and a model could have different files."""
        backend.write("/cafe\u0301.md", "first")
        assert text_of(backend.read("/caf\u00e9.md")) == "first"

    def test_text_that_is_not_unicode_is_a_result(self, backend: BackendProtocol) -> None:
        """A lone surrogate cannot be stored."""
        assert backend.write("/a", "\ud800").error
        backend.write("/b", "x")
        assert backend.edit("/b", "x", "\ud800").error
        assert text_of(backend.read("/b")) == "x"

    # ── editing ──

    def test_an_edit_replaces_the_one_place(self, backend: BackendProtocol) -> None:
        """The result includes the number of occurrences."""
        backend.write("/a", "red green blue\n")
        edited = backend.edit("/a", "green", "yellow")
        assert (edited.error, edited.occurrences) == (None, 1)
        assert text_of(backend.read("/a")) == "red yellow blue\n"

    def test_an_ambiguous_edit_changes_nothing(self, backend: BackendProtocol) -> None:
        """Unless all occurrences are to be replaced."""
        backend.write("/a", "x x")
        assert backend.edit("/a", "x", "y").error
        assert text_of(backend.read("/a")) == "x x"
        assert backend.edit("/a", "x", "y", True).occurrences == 2
        assert text_of(backend.read("/a")) == "y y"

    def test_an_edit_of_what_is_not_there_changes_nothing(self, backend: BackendProtocol) -> None:
        """Nor does an empty search text."""
        backend.write("/a", "x")
        assert backend.edit("/a", "missing", "y").error
        assert backend.edit("/a", "", "y").error
        assert text_of(backend.read("/a")) == "x"

    def test_an_edit_keeps_windows_line_ends(self, backend: BackendProtocol) -> None:
        """Text read with plain newlines can be edited, and the file keeps its line endings."""
        backend.upload_files([("/a.txt", b"one\r\ntwo\r\nthree\r\n")])
        assert text_of(backend.read("/a.txt")) == "one\ntwo\nthree\n"
        assert backend.edit("/a.txt", "one\ntwo", "1\n2").error is None
        assert backend.download_files(["/a.txt"])[0].content == b"1\r\n2\r\nthree\r\n"

    def test_a_binary_file_is_not_edited(self, backend: BackendProtocol) -> None:
        """Its bytes are unchanged."""
        backend.upload_files([("/a.bin", b"\xff\xfe\0x")])
        assert backend.edit("/a.bin", "x", "y").error
        assert backend.download_files(["/a.bin"])[0].content == b"\xff\xfe\0x"

    # ── folders ──

    def test_ls_shows_a_folder_and_not_what_is_below(self, backend: BackendProtocol) -> None:
        """Folders end with a slash."""
        for path in ("/a.md", "/docs/b.md", "/docs/deep/c.md", "/docs2/d.md"):
            backend.write(path, "x")
        entries = {e["path"]: e.get("is_dir", False) for e in backend.ls("/").entries or []}
        assert entries == {"/a.md": False, "/docs/": True, "/docs2/": True}
        for folder in ("/docs", "/docs/"):
            inside = {e["path"] for e in backend.ls(folder).entries or []}
            assert inside == {"/docs/b.md", "/docs/deep/"}

    def test_ls_of_nothing_is_not_an_exception(self, backend: BackendProtocol) -> None:
        """The listing is empty."""
        assert not backend.ls("/").entries
        assert not backend.ls("/nowhere").entries

    def test_a_folder_is_not_its_namesakes(self, backend: BackendProtocol) -> None:
        """`/a` does not match `/ab`."""
        for path in ("/a/x.md", "/ab/x.md", "/a.md"):
            backend.write(path, "word")
        assert {e["path"] for e in backend.ls("/a").entries or []} == {"/a/x.md"}
        assert {m["path"] for m in backend.grep("word", "/a").matches or []} == {"/a/x.md"}
        assert {m["path"] for m in backend.glob("*.md", "/a").matches or []} == {"/a/x.md"}
        backend.delete("/a")
        assert is_there(backend, "/ab/x.md")
        assert is_there(backend, "/a.md")

    # ── searching ──

    def test_glob_matches_names_at_any_depth_and_paths_from_the_root(
        self, backend: BackendProtocol
    ) -> None:
        """As the protocol specifies."""
        for path in ("/a.py", "/src/b.py", "/src/deep/c.py", "/src/d.md", "/.env"):
            backend.write(path, "x")

        def found(pattern: str, path: str | None = None) -> set[str]:
            return {m["path"] for m in backend.glob(pattern, path).matches or []}

        assert found("*.py") == {"/a.py", "/src/b.py", "/src/deep/c.py"}
        assert found("/*.py") == {"/a.py"}
        assert found("src/**/*.py") == {"/src/b.py", "/src/deep/c.py"}
        assert found("*.{md,py}", "/src") == {"/src/b.py", "/src/deep/c.py", "/src/d.md"}
        assert found("*") == {"/a.py", "/src/b.py", "/src/deep/c.py", "/src/d.md"}
        assert found(".env") == {"/.env"}
        assert backend.glob("../*.py").error

    def test_grep_is_literal_and_counts_lines_from_one(self, backend: BackendProtocol) -> None:
        """Not a regular expression."""
        backend.write("/a.md", "x.y\nxzy\nx.y again\n")
        matches = backend.grep("x.y").matches or []
        assert [(m["path"], m["line"], m["text"]) for m in matches] == [
            ("/a.md", 1, "x.y"),
            ("/a.md", 3, "x.y again"),
        ]
        assert backend.grep("absent").matches == []

    def test_grep_is_narrowed_by_path_and_glob(self, backend: BackendProtocol) -> None:
        """To a folder, a file or names."""
        for path in ("/a.py", "/src/b.py", "/src/c.md"):
            backend.write(path, "needle")

        def found(path: str | None = None, glob: str | None = None) -> set[str]:
            return {m["path"] for m in backend.grep("needle", path, glob).matches or []}

        assert found("/src") == {"/src/b.py", "/src/c.md"}
        assert found("/src/b.py") == {"/src/b.py"}
        assert found(None, "*.py") == {"/a.py", "/src/b.py"}
        assert found(None, "src/*.py") == {"/src/b.py"}
        assert found("/src", "*.md") == {"/src/c.md"}

    def test_grep_stops_at_its_count_and_says_so(self, backend: BackendProtocol) -> None:
        """Exactly as many is complete."""
        for n in range(4):
            backend.write(f"/{n}.md", "needle\nneedle\n")
        few = backend.grep("needle", max_count=3)
        assert (len(few.matches or []), few.truncated) == (3, True)
        all_of_them = backend.grep("needle", max_count=8)
        assert (len(all_of_them.matches or []), all_of_them.truncated) == (8, False)

    def test_grep_goes_past_files_that_are_not_text(self, backend: BackendProtocol) -> None:
        """A binary file does not end the search."""
        backend.upload_files([("/a.bin", b"\xff\0needle"), ("/b.txt", b"needle"), ("/c", b"\xff")])
        result = backend.grep("needle")
        assert result.error is None
        assert [m["path"] for m in result.matches or []] == ["/b.txt"]

    # ── deleting, whole files ──

    def test_delete_takes_a_file_or_a_folder_with_all_in_it(self, backend: BackendProtocol) -> None:
        """A missing path is an error; `*` is literal."""
        for path in ("/a.md", "/docs/b.md", "/docs/deep/c.md"):
            backend.write(path, "x")
        assert backend.delete("/a.md").error is None
        assert not is_there(backend, "/a.md")
        assert backend.delete("/a.md").error
        assert backend.delete("/*").error
        assert backend.delete("/docs").error is None
        assert not backend.glob("**/*").matches

    def test_a_folder_is_not_written_as_a_file(self, backend: BackendProtocol) -> None:
        """Otherwise deleting one would delete the other."""
        backend.write("/reports/q1.md", "x")
        assert backend.write("/reports", "note").error
        [uploaded] = backend.upload_files([("/reports", b"note")])
        assert uploaded.error == "is_directory"
        assert not is_there(backend, "/reports")
        assert is_there(backend, "/reports/q1.md")
        assert [e["path"] for e in backend.ls("/").entries or []] == ["/reports/"]
        backend.delete("/reports")
        assert backend.write("/reports", "note").error is None

    def test_nothing_is_written_below_a_file(self, backend: BackendProtocol) -> None:
        """At any depth, also together in one upload."""
        backend.write("/note", "x")
        for path in ("/note/a", "/note/deep/b"):
            assert backend.write(path, "y").error, path
            [uploaded] = backend.upload_files([(path, b"y")])
            assert uploaded.error == "invalid_path", path
            assert not is_there(backend, path)
        up = backend.upload_files([("/new", b"x"), ("/new/a", b"y")])
        assert [u.error for u in up] == [None, "invalid_path"]
        assert text_of(backend.read("/note")) == "x"
        assert {m["path"] for m in backend.glob("**/*").matches or []} == {"/note", "/new"}

    def test_the_root_is_not_deleted(self, backend: BackendProtocol) -> None:
        """A single call must not empty a workspace."""
        backend.write("/a", "x")
        assert backend.delete("/").error
        assert is_there(backend, "/a")

    def test_bytes_come_back_as_they_went_in(self, backend: BackendProtocol) -> None:
        """One result per file, in order."""
        data = bytes(range(256))
        up = backend.upload_files([("/x.bin", data), ("/y.txt", b"text\r\n")])
        assert [(u.path, u.error) for u in up] == [("/x.bin", None), ("/y.txt", None)]
        down = backend.download_files(["/y.txt", "/x.bin", "/missing"])
        assert [d.content for d in down] == [b"text\r\n", data, None]
        assert [d.error for d in down] == [None, None, "file_not_found"]

    def test_a_binary_file_is_read_as_base64(self, backend: BackendProtocol) -> None:
        """Even if its name has no binary extension."""
        for path in ("/x.png", "/x.dat"):
            backend.upload_files([(path, b"\x89PNG\0\xff")])
            read = backend.read(path)
            assert read.file_data is not None
            assert read.file_data["encoding"] == "base64"
            assert base64.b64decode(read.file_data["content"]) == b"\x89PNG\0\xff"

    # ── paths ──

    def test_a_bad_path_is_a_result_and_nothing_is_written(self, backend: BackendProtocol) -> None:
        """Paths are never repaired, and no exception is raised."""
        for path in BAD_PATHS:
            assert backend.write(path, "x").error, path
            assert backend.read(path).error, path
            assert backend.edit(path, "x", "y").error, path
            [uploaded] = backend.upload_files([(path, b"x")])
            assert uploaded.error, path
            [downloaded] = backend.download_files([path])
            assert downloaded.error, path
        assert not backend.glob("**/*").matches

    def test_a_bad_folder_is_a_result(self, backend: BackendProtocol) -> None:
        """For all operations on folders."""
        backend.write("/a", "x")
        for path in ("/../", "/x\0", "/..\\"):
            assert not backend.ls(path).entries, path
            assert not backend.grep("x", path).matches, path
            assert not backend.glob("*", path).matches, path
            assert backend.delete(path).error, path
        assert is_there(backend, "/a")

    # ── async ──

    async def test_the_async_twins_do_the_same(self, backend: BackendProtocol) -> None:
        """Every operation has an async variant."""
        assert (await backend.awrite("/docs/a", "x word")).error is None
        assert (await backend.aedit("/docs/a", "x", "y")).occurrences == 1
        assert text_of(await backend.aread("/docs/a")) == "y word"
        assert [e["path"] for e in (await backend.als("/")).entries or []] == ["/docs/"]
        assert len((await backend.agrep("word")).matches or []) == 1
        assert len((await backend.aglob("a")).matches or []) == 1
        assert (await backend.adownload_files(["/docs/a"]))[0].content == b"y word"
        assert (await backend.aupload_files([("/b", b"b")]))[0].error is None
        assert (await backend.adelete("/docs")).error is None
        assert not is_there(backend, "/docs/a")


EDITS = 64


class SharedBackendContract(BackendContract):
    """The contract of a backend with concurrent writers.

    `another(backend)` gives a second client of the same storage, as another process would be.
    """

    def another(self, backend: BackendProtocol) -> BackendProtocol:
        """A client that shares no memory with the first, if possible."""
        return backend

    def test_concurrent_edits_are_all_kept(self, backend: BackendProtocol) -> None:
        """Sixty-four concurrent edits of one file by as many clients: none is lost."""
        backend.write("/shared.md", "".join(f"[{n}]\n" for n in range(EDITS)))
        start, failed = threading.Barrier(EDITS), []

        def edit(n: int, client: BackendProtocol) -> None:
            start.wait(30)
            result = client.edit("/shared.md", f"[{n}]", f"<{n}>")
            if result.error:
                failed.append(result.error)

        clients = [self.another(backend) for _ in range(EDITS)]
        threads = [threading.Thread(target=edit, args=(n, c)) for n, c in enumerate(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        text = text_of(backend.read("/shared.md"))
        kept = sum(f"<{n}>" in text for n in range(EDITS))
        assert (kept, failed) == (EDITS, [])

    async def test_async_edits_are_all_kept(self, backend: BackendProtocol) -> None:
        """As parallel tool calls of one step do."""
        backend.write("/shared.md", "".join(f"[{n}]\n" for n in range(16)))
        async with asyncio.TaskGroup() as group:
            for n in range(16):
                group.create_task(backend.aedit("/shared.md", f"[{n}]", f"<{n}>"))
        assert text_of(backend.read("/shared.md")).count("<") == 16
