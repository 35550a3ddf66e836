"""Arguments as plain data: the map, its checks, its exports, and the moves of a tutor."""
