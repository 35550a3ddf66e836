"""Chat in a terminal: `events` parses the stream, `screen` renders it, `answers` prompts."""
