"""Prepaid use at the edge: its settings, its parts, and what an operator sees of it."""
