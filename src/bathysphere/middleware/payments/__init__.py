"""Payment for model calls: a middleware and the metering of each call."""
