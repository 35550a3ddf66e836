"""Schedules: runs that are created at the times of a cron expression, each once."""
