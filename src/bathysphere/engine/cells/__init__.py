"""Cells: which database a tenant lives in, and its move from one to another."""
