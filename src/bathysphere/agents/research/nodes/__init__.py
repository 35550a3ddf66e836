"""The nodes of the research graph, one per file: each takes the state and returns an update."""
