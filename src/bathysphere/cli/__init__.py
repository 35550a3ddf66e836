"""The command line: one file a command, the agent stack imported only when a command runs."""
