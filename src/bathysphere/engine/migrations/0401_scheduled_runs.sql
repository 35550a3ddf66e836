-- A run that waits for its time does not hold up those that were started after it. A run that was
-- tried already does, also while it waits for its next attempt: runs of a thread keep their order.
CREATE OR REPLACE FUNCTION engine.is_claimable(waiting procrastinate_jobs, p_queues text[])
RETURNS boolean LANGUAGE sql STABLE AS $$
SELECT waiting.status = 'todo'
   AND waiting.queue_name = ANY (p_queues)
   AND (waiting.scheduled_at IS NULL OR waiting.scheduled_at <= now())
   AND NOT EXISTS (
       SELECT 1 FROM procrastinate_jobs other
        WHERE other.lock = waiting.lock
          AND (other.status = 'doing'
               OR (other.status = 'todo'
                   AND (other.attempts > 0 OR other.scheduled_at IS NULL OR other.scheduled_at <= now())
                   AND (other.priority > waiting.priority
                        OR (other.priority = waiting.priority AND other.id < waiting.id)))))
$$;
