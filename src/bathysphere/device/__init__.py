"""A person's device: their documents, and the client tools that agents call on it."""
