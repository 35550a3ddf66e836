-- Creating a run and ending it, each in one round trip. These are functions in PL/pgSQL and not
-- statements with WITH, because each statement in them sees what was committed while the one before
-- waited for the thread's lock.
--
-- They return columns of their own and not rows of engine.runs: a prepared call of a function fails
-- once a newer version has added a column to the type it returns.

-- The run, its job and the answers it carries, unless a limit of pending runs is reached.
--
-- A new message carries the answers that are still waiting for others, and those of the runs that it
-- replaces (p_inherits), so that none of them is lost.
--
-- Tags increase within a tenant, so the runs of a thread keep their order; which run is next is
-- decided when a worker claims one (engine.claim_job). Each count of pending runs stops at its limit,
-- so that a long queue does not make it slow.
CREATE FUNCTION engine.insert_run(
    p_run uuid, p_thread uuid, p_tenant text, p_owner text, p_graph text, p_work jsonb,
    p_takes_kept boolean, p_delay double precision, p_inherits uuid[], p_deletes_thread boolean,
    p_per_thread bigint, p_per_user bigint, p_per_tenant bigint
) RETURNS TABLE (answers jsonb, seq bigint, tag integer, job_id bigint, created_at timestamptz)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH kept AS (
        UPDATE engine.answers SET run_id = p_run
         WHERE p_takes_kept AND thread_id = p_thread
           AND (run_id IS NULL OR run_id = ANY (p_inherits))
        RETURNING interrupt_id, answer
    ), taken AS (
        SELECT jsonb_object_agg(interrupt_id, answer) AS answers FROM kept
    ), fair AS MATERIALIZED (
        SELECT GREATEST(
               COALESCE(
                   (SELECT max(tag) FROM engine.runs WHERE status = 'running'),
                   (SELECT min(tag) FROM engine.runs WHERE status = 'pending'),
                   0),
               COALESCE(
                   (SELECT max(tag) + 1 FROM engine.runs
                     WHERE tenant = p_tenant AND status IN ('pending', 'running')),
                   0)) AS tag
    ), job AS MATERIALIZED (
        SELECT (procrastinate_defer_jobs_v1(ARRAY[ROW(
                   'runs', 'run', -fair.tag, p_thread::text, NULL,
                   jsonb_build_object('run_id', p_run::text),
                   CASE WHEN p_delay > 0 THEN now() + make_interval(secs => p_delay) END
               )::procrastinate_job_to_defer_v1]))[1] AS id
          FROM fair, engine.room(p_thread, p_tenant, p_owner, p_per_thread, p_per_user, p_per_tenant)
               AS room
         WHERE room.on_thread AND room.of_user AND room.of_tenant
    ), inserted AS (
        INSERT INTO engine.runs
               (run_id, thread_id, tenant, owner, graph, work, tag, job_id, deletes_thread)
        SELECT p_run, p_thread, p_tenant, p_owner, p_graph,
               CASE WHEN taken.answers IS NULL THEN p_work
                    ELSE jsonb_set(p_work, '{resume}', taken.answers) END,
               fair.tag, job.id, p_deletes_thread
          FROM fair, job, taken
        RETURNING seq, tag, job_id, created_at
    )
    SELECT taken.answers, inserted.seq, inserted.tag, inserted.job_id, inserted.created_at
      FROM inserted, taken;
END;
$$;

-- Whether one more run may be pending on the thread, for the user and for the tenant.
CREATE FUNCTION engine.room(
    p_thread uuid, p_tenant text, p_owner text,
    p_per_thread bigint, p_per_user bigint, p_per_tenant bigint
) RETURNS TABLE (on_thread boolean, of_user boolean, of_tenant boolean) LANGUAGE sql STABLE AS $$
SELECT p_per_thread IS NULL OR p_per_thread > (
           SELECT count(*) FROM (
               SELECT FROM engine.runs WHERE thread_id = p_thread AND status = 'pending'
                LIMIT p_per_thread) few),
       p_per_user IS NULL OR p_per_user > (
           SELECT count(*) FROM (
               SELECT FROM engine.runs
                WHERE tenant = p_tenant AND owner = p_owner AND status = 'pending'
                LIMIT p_per_user) few),
       p_per_tenant IS NULL OR p_per_tenant > (
           SELECT count(*) FROM (
               SELECT FROM engine.runs WHERE tenant = p_tenant AND status = 'pending'
                LIMIT p_per_tenant) few)
$$;

-- A run behind the thread's others, with the thread locked, marked busy and created if asked for.
-- Returns nothing and changes nothing if the thread does not exist or belongs to another owner.
CREATE FUNCTION engine.enqueue_run(
    p_run uuid, p_thread uuid, p_tenant text, p_owner text, p_graph text, p_work jsonb,
    p_takes_kept boolean, p_delay double precision, p_inherits uuid[], p_deletes_thread boolean,
    p_per_thread bigint, p_per_user bigint, p_per_tenant bigint,
    p_creates_thread boolean, p_metadata jsonb
) RETURNS TABLE (answers jsonb, seq bigint, tag integer, job_id bigint, created_at timestamptz)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    IF p_creates_thread THEN
        INSERT INTO engine.threads AS thread (thread_id, tenant, owner, status, metadata)
        VALUES (p_thread, p_tenant, p_owner, 'busy', p_metadata)
        ON CONFLICT (thread_id) DO UPDATE
           SET status = 'busy', updated_at = now(), metadata = thread.metadata || p_metadata
         WHERE (thread.tenant, thread.owner) = (p_tenant, p_owner);
    ELSE
        UPDATE engine.threads thread
           SET status = 'busy', updated_at = now(), metadata = thread.metadata || p_metadata
         WHERE thread.thread_id = p_thread AND (thread.tenant, thread.owner) = (p_tenant, p_owner);
    END IF;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT answers, seq, tag, job_id, created_at
      FROM engine.insert_run(
           p_run, p_thread, p_tenant, p_owner, p_graph, p_work, p_takes_kept, p_delay, p_inherits,
           p_deletes_thread, p_per_thread, p_per_user, p_per_tenant);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'too many pending runs' USING ERRCODE = 'BS001';
    END IF;
END;
$$;

-- The status of a thread, from its runs. The caller holds the thread's lock.
CREATE FUNCTION engine.update_thread_status(p_thread uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE engine.threads SET updated_at = now(), status = CASE
           WHEN EXISTS (SELECT 1 FROM engine.runs
                         WHERE thread_id = p_thread AND status IN ('pending', 'running'))
           THEN 'busy'
           ELSE COALESCE(
                (SELECT CASE status WHEN 'interrupted' THEN 'interrupted'
                                    WHEN 'error' THEN 'error' WHEN 'timeout' THEN 'error'
                                    ELSE 'idle' END
                   FROM engine.runs WHERE thread_id = p_thread ORDER BY seq DESC LIMIT 1),
                'idle')
           END
     WHERE thread_id = p_thread;
END;
$$;

-- The ordinary end of a run: success or interrupted, and nobody asked to undo it. Returns nothing
-- and changes nothing otherwise, or if another attempt has the run.
CREATE FUNCTION engine.finish_run(p_run uuid, p_thread uuid, p_token bigint, p_status text)
RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
    ended_at timestamptz;
BEGIN
    -- The thread before the run: everyone locks in this order.
    PERFORM 1 FROM engine.threads WHERE thread_id = p_thread FOR NO KEY UPDATE;
    UPDATE engine.runs
       SET status = p_status, error = NULL, token = NULL, finished_at = now()
     WHERE run_id = p_run AND token = p_token AND cancel IS NULL
    RETURNING finished_at INTO ended_at;
    IF ended_at IS NOT NULL THEN
        -- Saved writes are not needed after a run that ended without an error.
        DELETE FROM engine.writes_before WHERE run_id = p_run;
        PERFORM engine.update_thread_status(p_thread);
    END IF;
    RETURN ended_at;
END;
$$;
