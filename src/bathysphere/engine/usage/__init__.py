"""What runs use: every model call counted as it happens, rows per run, and reports."""
