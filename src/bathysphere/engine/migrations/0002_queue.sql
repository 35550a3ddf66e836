-- Procrastinate finds "an earlier job with this lock" through an index on (id, lock), which reads
-- every waiting job for each candidate. This one reads the jobs of one thread.
CREATE INDEX engine_jobs_of_thread ON procrastinate_jobs (lock, status)
    WHERE status IN ('todo', 'doing');

-- Procrastinate wakes workers when a job is inserted. A thread that becomes free, or a run that is
-- handed on, must wake them too, or the next run waits for the next poll.
CREATE FUNCTION engine.wake_workers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM procrastinate_jobs WHERE lock = OLD.lock AND status = 'todo') THEN
        PERFORM pg_notify(
            'procrastinate_queue_v1#' || OLD.queue_name,
            json_build_object('type', 'job_inserted', 'job_id', OLD.id)::text
        );
    END IF;
    RETURN NULL;
END;
$$;

CREATE TRIGGER engine_wake_workers_on_release
    AFTER UPDATE OF status ON procrastinate_jobs
    FOR EACH ROW WHEN (OLD.status = 'doing' AND NEW.status <> 'doing')
    EXECUTE FUNCTION engine.wake_workers();

CREATE TRIGGER engine_wake_workers_on_delete
    AFTER DELETE ON procrastinate_jobs
    FOR EACH ROW WHEN (OLD.status = 'doing')
    EXECUTE FUNCTION engine.wake_workers();
