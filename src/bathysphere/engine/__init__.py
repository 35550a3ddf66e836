"""The engine: durable runs of LangGraph graphs that neither lose nor double anything.

PostgreSQL remembers (threads, runs, checkpoints, the queue, effects), Procrastinate dispatches,
LangGraph executes and an event log carries what happens. Nothing here knows HTTP.
"""
