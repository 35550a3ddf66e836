"""Which agents a process serves: registered by packages, or named as targets by the operator.

A target is code that the process imports. Only the command line, its environment and a
`langgraph.json` that the operator points to choose targets; no request does.
"""
