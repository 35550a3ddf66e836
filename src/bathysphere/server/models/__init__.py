"""Which models this server offers, and how a local one is loaded."""
