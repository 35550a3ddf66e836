"""From a `provider:name` string to a chat model."""
