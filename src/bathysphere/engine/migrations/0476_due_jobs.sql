-- When the next job is due, which each claim asks.
CREATE INDEX CONCURRENTLY IF NOT EXISTS engine_jobs_due ON procrastinate_jobs (scheduled_at)
    WHERE status = 'todo' AND scheduled_at IS NOT NULL;
