"""Chat models, resolved from `provider:name` strings."""
