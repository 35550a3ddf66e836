"""A person's device with documents on it, which does what the tutor's client tools ask."""

import fnmatch


class Device:
    """Documents by id; every answer has the shape that docs/client-files.md gives."""

    def __init__(self, **documents: str) -> None:
        self.documents = dict(documents)
        self.versions = dict.fromkeys(documents, 1)
        self.asked: list[str] = []

    def run(self, call: dict) -> dict:
        """Answer one tool call."""
        self.asked.append(call["name"])
        return {call["id"]: getattr(self, call["name"])(**call["args"])}

    def list_user_files(self, file_type: str | None = None) -> dict:
        return {"files": [self._file(name) for name in self.documents]}

    def glob_user_files(self, pattern: str) -> dict:
        found = [name for name in self.documents if fnmatch.fnmatch(name, pattern)]
        return {"files": [self._file(name) for name in found]}

    def read_user_file(self, file_id: str, offset: int = 0, limit: int = 8_000) -> dict:
        if file_id not in self.documents:
            return {"error": f"there is no document {file_id}"}
        return self._window(file_id, offset, limit)

    def search_user_files(self, query: str, top_k: int = 8) -> dict:
        words = set(query.casefold().split())
        found = [n for n, text in self.documents.items() if words & set(text.casefold().split())]
        return {"hits": [self._window(name, 0, 2_000) for name in found[:top_k]]}

    def grep_user_files(
        self, pattern: str, glob: str | None = None, case_sensitive: bool = False
    ) -> dict:
        rows, wanted = [], pattern if case_sensitive else pattern.casefold()
        for name, text in self.documents.items():
            start = 0
            for number, line in enumerate(text.splitlines(keepends=True), 1):
                if wanted in (line if case_sensitive else line.casefold()):
                    place = {"line": number, "start": start, "text": line.rstrip("\n")[:2_000]}
                    rows.append({"file_id": name, "version": self._version(name), **place})
                start += len(line)
        return {"matches": rows[:200]}

    def write_user_file(self, title: str, content: str, file_type: str, description: str) -> dict:
        self.documents[title], self.versions[title] = content, 1
        return {"status": "applied", "file_id": title, "version": "1"}

    def patch_user_file(
        self, file_id: str, base_version: str, search: str, replace: str, description: str
    ) -> dict:
        if base_version != self._version(file_id):
            now = {"file_id": file_id, "version": self._version(file_id)}
            return {"status": "conflict", "text": self.documents[file_id], **now}
        if self.documents[file_id].count(search) != 1:
            return {"error": "the text to replace must occur once"}
        self.documents[file_id] = self.documents[file_id].replace(search, replace)
        self.versions[file_id] += 1
        return {"status": "applied", "file_id": file_id, "version": self._version(file_id)}

    def _version(self, name: str) -> str:
        return str(self.versions[name])

    def _file(self, name: str) -> dict:
        size = len(self.documents[name])
        return {"id": name, "title": name, "version": self._version(name), "characters": size}

    def _window(self, name: str, offset: int, limit: int) -> dict:
        text = self.documents[name]
        return {
            "file_id": name,
            "version": self._version(name),
            "start": offset,
            "total": len(text),
            "text": text[offset : offset + limit],
        }
