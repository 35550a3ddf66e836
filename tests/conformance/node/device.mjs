// A person's device in memory: documents with versions, and the tools that work on them.
export class Device {
  constructor(documents = {}) {
    this.files = new Map(
      Object.entries(documents).map(([id, text]) => [id, { title: id, text, version: 1 }]));
    this.ran = [];
    this.delays = {};
  }

  // In the SDK's form: what `useStream({ tools })` is given.
  tools(...names) {
    const all = ["list_user_files", "read_user_file", "search_user_files", "grep_user_files",
      "glob_user_files", "write_user_file", "patch_user_file"];
    return (names.length ? names : all).map((name) => ({
      tool: { name },
      execute: async (args) => {
        this.ran.push(name);
        if (this.delays[name]) await new Promise((resolve) => setTimeout(resolve, this.delays[name]));
        return this[name](args);
      },
    }));
  }

  edit(id, text) {
    const file = this.files.get(id);
    Object.assign(file, { text, version: file.version + 1 });
  }

  list_user_files() {
    return { files: [...this.files].map(([id, file]) => this.#row(id, file)) };
  }

  glob_user_files({ pattern }) {
    const matches = new RegExp(`^${pattern.replaceAll("*", ".*")}$`);
    return { files: this.list_user_files().files.filter(({ title }) => matches.test(title)) };
  }

  read_user_file({ file_id, offset = 0, limit = 8000 }) {
    const file = this.files.get(file_id);
    if (!file) throw new Error(`no document ${file_id}`);
    const text = file.text.slice(offset, offset + limit);
    return { file_id, title: file.title, version: String(file.version), start: offset, total: file.text.length, text };
  }

  search_user_files({ query, top_k }) {
    const words = query.split(" ");
    const found = [...this.files.keys()].filter((id) => words.some((w) => this.files.get(id).text.includes(w)));
    return { hits: found.slice(0, top_k).map((file_id) => this.read_user_file({ file_id })) };
  }

  grep_user_files({ pattern }) {
    const matches = [...this.files].filter(([, { text }]) => text.includes(pattern)).map(([file_id, file]) => ({
      file_id, version: String(file.version), line: 1, start: file.text.indexOf(pattern), text: file.text,
    }));
    return { matches };
  }

  write_user_file({ title, content }) {
    this.files.set(title, { title, text: content, version: 1 });
    return { status: "applied", file_id: title, version: "1" };
  }

  patch_user_file({ file_id, base_version, search, replace }) {
    const file = this.files.get(file_id);
    const now = () => ({ file_id, version: String(file.version) });
    if (String(file.version) !== base_version) return { status: "conflict", ...now(), text: file.text };
    this.edit(file_id, file.text.replace(search, replace));
    return { status: "applied", ...now() };
  }

  #row(id, { title, text, version }) {
    return { id, title, version: String(version), type: "markdown", characters: text.length };
  }
}
