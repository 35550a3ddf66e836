"""Services for a graph during an attempt: effects, payments, file changes, the store."""
