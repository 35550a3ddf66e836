"""What an operator sees: logs, metrics and traces, of the API and of the workers."""
