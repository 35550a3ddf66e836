"""A person's device in plain Python: their documents, and what an agent's client tools do there."""
