"""Stateless web access: guarded fetching, reading pages, searching.

Plain Python; callers check permissions. The public names, by module:

- `fetch`: `Fetcher(FetchRules(…)).get(address, visit=…)` → `Fetched`; `FetchRules.pinned` is the
  explicit list of hosts that resolve to a loopback server in tests
- `pages`: `PageReader(fetcher, clock).read(address, visit=…)` → `Snapshot`
- `parser_pool`: `shared_parsers(limits).read(…)`: a page's text, parsed in a killable process
- `readable`: `read_html`, `read_pdf`, `read_body` (extra `research`)
- `search`: `SearchEngine`, `SearchResult`, and the engines
- `settings`: `FetchSettings`, `SearchSettings`, `search_engine(settings, fetcher)`
- `errors`: `FetchRefused` and `FetchFailed` (each with a `reason`), `SearchFailed`
"""
