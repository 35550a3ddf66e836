"""Delivery of what must follow a commit: outboxes, allowed receivers, and the sender of both."""
