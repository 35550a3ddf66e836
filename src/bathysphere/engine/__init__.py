"""The engine: durable runs of LangGraph graphs, without lost or duplicated work.

PostgreSQL stores the state (threads, runs, checkpoints, the queue, effects), Procrastinate
dispatches, LangGraph executes and an event log streams events. Nothing here depends on HTTP.
"""
