"""Talking with an agent in a terminal: `events` reads a run, `screen` shows it, `answers` asks."""
