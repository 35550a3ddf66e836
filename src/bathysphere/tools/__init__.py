"""Tools without state: fetching under guard, reading pages, searching.

Plain Python; what calls them holds the permission. The public names, by module:

- `fetch`: `Fetcher(FetchRules(…)).get(address, visit=…)` → `Fetched`; `FetchRules.pinned` is the
  explicit list of hosts that lead to a loopback server in tests
- `pages`: `PageReader(fetcher, clock).read(address, visit=…)` → `Snapshot`
- `readable`: `read_html`, `read_pdf`, `read_body` (extra `research`)
- `search`: `SearchEngine`, `SearchResult`, and the engines
- `settings`: `FetchSettings`, `SearchSettings`, `search_engine(settings, fetcher)`
- `errors`: `FetchRefused` and `FetchFailed` (each with a `reason`), `SearchFailed`
"""
