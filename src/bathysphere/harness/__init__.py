"""The harness: builds agents from declarative specs on top of deepagents."""
