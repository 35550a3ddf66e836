"""Search engines with a common interface, one per file.

- `contract`: `SearchEngine`, `SearchResult`
- `brave`: `Brave(fetcher, key=…)`; `duckduckgo`: `DuckDuckGo(fetcher)`;
  `google_cse`: `GoogleCSE(fetcher, key=…, cx=…)`; `searxng`: `SearXNG(fetcher, base_url=…)`;
  `tavily`: `Tavily(fetcher, key=…)`; `corpus`: `Corpus(documents)`, `Document`
- `json_response`, `api_failure`: what the engines with an API have in common

"""
