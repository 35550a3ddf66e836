"""The nodes of the research graph, one a file: each takes the state and returns what it changes."""
