"""The agents that ship, each a short specification on the harness."""
