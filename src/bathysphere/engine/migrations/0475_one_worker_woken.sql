-- Procrastinate tells every worker of each new job; all of them ask for it, and one gets it. Here one
-- worker is told: one with free slots, and of those the least busy. If none is known, all are told.

-- How many runs each worker has slots for; 0 while it takes none.
CREATE TABLE engine.worker_slots (
    worker_id bigint PRIMARY KEY REFERENCES procrastinate_workers (id) ON DELETE CASCADE,
    slots     integer NOT NULL CHECK (slots >= 0)
);

CREATE FUNCTION engine.worker_to_wake() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN (
        SELECT offer.worker_id
          FROM engine.worker_slots offer
          JOIN procrastinate_workers worker ON worker.id = offer.worker_id
         CROSS JOIN LATERAL (SELECT count(*) AS jobs FROM procrastinate_jobs job
                              WHERE job.worker_id = offer.worker_id AND job.status = 'doing') AS held
         WHERE worker.last_heartbeat > now() - interval '3 seconds' AND held.jobs < offer.slots
         ORDER BY held.jobs::float8 / offer.slots, random()
         LIMIT 1
    );
END;
$$;

CREATE FUNCTION engine.announce_job(p_queue text, p_job bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('procrastinate_queue_v1#' || p_queue, json_build_object(
        'type', 'job_inserted', 'job_id', p_job, 'worker_id', engine.worker_to_wake())::text);
END;
$$;

CREATE FUNCTION engine.announce_new_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM engine.announce_job(NEW.queue_name, NEW.id);
    RETURN NULL;
END;
$$;

CREATE TRIGGER engine_announce_new_job
    AFTER INSERT ON procrastinate_jobs
    FOR EACH ROW WHEN (NEW.status = 'todo')
    EXECUTE FUNCTION engine.announce_new_job();

-- Disabled and not dropped, because a later version of Procrastinate may name it.
ALTER TABLE procrastinate_jobs DISABLE TRIGGER procrastinate_jobs_notify_queue_job_inserted_v1;

-- A thread that becomes free, or a run that is handed on, is announced as a new job is.
CREATE OR REPLACE FUNCTION engine.wake_workers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM procrastinate_jobs WHERE lock = OLD.lock AND status = 'todo') THEN
        PERFORM engine.announce_job(OLD.queue_name, OLD.id);
    END IF;
    RETURN NULL;
END;
$$;

-- Also when a run that waited to be tried again is withdrawn: its thread's next run may start.
CREATE OR REPLACE TRIGGER engine_wake_workers_on_delete
    AFTER DELETE ON procrastinate_jobs
    FOR EACH ROW WHEN (OLD.status IN ('todo', 'doing'))
    EXECUTE FUNCTION engine.wake_workers();
