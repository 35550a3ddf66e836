"""Search engines with a common interface, one per file.

- `contract`: `SearchEngine`, `SearchResult`
- `duckduckgo`: `DuckDuckGo(fetcher)`; `google_cse`: `GoogleCSE(fetcher, key=…, cx=…)`;
  `searxng`: `SearXNG(fetcher, base_url=…)`; `corpus`: `Corpus(documents)`, `Document`

"""
