"""The event log of a thread, and the mapping of a run's stream to events."""
