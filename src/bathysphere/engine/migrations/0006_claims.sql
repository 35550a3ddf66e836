-- Who is served next: when a worker last took a run of each user.
CREATE TABLE engine.turns (
    tenant   text NOT NULL,
    owner    text NOT NULL,
    taken_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, owner)
);
CREATE INDEX turns_of_tenant ON engine.turns (tenant, taken_at DESC);

-- For claims and for limits on runs that wait.
CREATE INDEX runs_active_of_user ON engine.runs (tenant, owner, seq)
    WHERE status IN ('pending', 'running');
CREATE INDEX runs_active_of_thread ON engine.runs (thread_id, seq)
    WHERE status IN ('pending', 'running');

-- Jobs that were queued again; of a run that is over only the end is left to tell.
CREATE INDEX engine_jobs_requeued ON procrastinate_jobs (id) WHERE status = 'todo' AND attempts > 0;

-- Users who may be given a slot of this worker, in the order in which they are served: the tenant
-- that was served longest ago, and of it the user who was.
--
-- A tenant or user that already holds its share of the worker's slots leaves the last free ones to
-- others, if there are others: a run cannot be preempted, so some slots are kept for those who come.
CREATE FUNCTION engine.users_in_turn(
    p_worker bigint,
    p_slots integer,
    p_tenant_share integer,
    p_user_share integer,
    p_reserve integer
) RETURNS TABLE (tenant text, owner text, is_held_back boolean) LANGUAGE sql STABLE AS $$
WITH RECURSIVE active AS (
    (SELECT run.tenant, run.owner FROM engine.runs run
      WHERE run.status IN ('pending', 'running')
      ORDER BY run.tenant, run.owner LIMIT 1)
    UNION ALL
    SELECT following.tenant, following.owner
      FROM active, LATERAL (
           SELECT run.tenant, run.owner FROM engine.runs run
            WHERE run.status IN ('pending', 'running')
              AND (run.tenant, run.owner) > (active.tenant, active.owner)
            ORDER BY run.tenant, run.owner LIMIT 1) following
), held AS MATERIALIZED (
    SELECT run.tenant, run.owner, count(*) AS slots
      FROM procrastinate_jobs job
      JOIN engine.runs run ON run.run_id = (job.args ->> 'run_id')::uuid
     WHERE job.worker_id = p_worker AND job.status = 'doing'
     GROUP BY run.tenant, run.owner
), free AS MATERIALIZED (
    SELECT p_slots - COALESCE(sum(held.slots), 0) AS slots FROM held
), known AS (
    SELECT active.tenant, active.owner,
           COALESCE((SELECT sum(held.slots) FROM held WHERE held.tenant = active.tenant), 0)
               AS of_tenant,
           COALESCE((SELECT held.slots FROM held
                      WHERE held.tenant = active.tenant AND held.owner = active.owner), 0)
               AS of_user,
           CASE WHEN p_reserve > 0 AND (
                EXISTS (SELECT 1 FROM engine.threads t WHERE t.tenant > active.tenant)
                OR EXISTS (SELECT 1 FROM engine.threads t WHERE t.tenant < active.tenant))
                THEN p_reserve ELSE 0 END AS for_tenants,
           CASE WHEN p_reserve > 0 AND (
                EXISTS (SELECT 1 FROM engine.threads t
                         WHERE t.tenant = active.tenant AND t.owner > active.owner)
                OR EXISTS (SELECT 1 FROM engine.threads t
                            WHERE t.tenant = active.tenant AND t.owner < active.owner))
                THEN p_reserve ELSE 0 END AS for_users
      FROM active
)
SELECT known.tenant, known.owner,
       (known.for_tenants > 0
           AND known.of_tenant >= p_tenant_share AND free.slots <= known.for_tenants)
       OR (known.for_tenants + known.for_users > 0
           AND known.of_user >= p_user_share
           AND free.slots <= known.for_tenants + known.for_users) AS is_held_back
  FROM free, known
  LEFT JOIN engine.turns turn ON turn.tenant = known.tenant AND turn.owner = known.owner
 ORDER BY (SELECT max(of_tenant.taken_at) FROM engine.turns of_tenant
            WHERE of_tenant.tenant = known.tenant) NULLS FIRST,
          turn.taken_at NULLS FIRST, known.tenant, known.owner
$$;

-- Whether a job may be taken: its time has come, and no job of its thread comes before it.
CREATE FUNCTION engine.is_claimable(waiting procrastinate_jobs, p_queues text[])
RETURNS boolean LANGUAGE sql STABLE AS $$
SELECT waiting.status = 'todo'
   AND waiting.queue_name = ANY (p_queues)
   AND (waiting.scheduled_at IS NULL OR waiting.scheduled_at <= now())
   AND NOT EXISTS (
       SELECT 1 FROM procrastinate_jobs other
        WHERE other.lock = waiting.lock
          AND (other.status = 'doing'
               OR (other.status = 'todo'
                   AND (other.priority > waiting.priority
                        OR (other.priority = waiting.priority AND other.id < waiting.id)))))
$$;

-- Takes one job for a worker, or none; `held_back` says that there may be one for a later try.
CREATE FUNCTION engine.claim_job(
    p_worker bigint,
    p_queues text[],
    p_slots integer,
    p_tenant_share integer,
    p_user_share integer,
    p_reserve integer
) RETURNS TABLE (held_back boolean, job procrastinate_jobs) LANGUAGE plpgsql AS $$
DECLARE
    candidate record;
BEGIN
    held_back := false;
    -- Jobs of runs that are over first: the next run of their thread waits for them.
    SELECT waiting.* INTO job
      FROM procrastinate_jobs waiting
      JOIN engine.runs run ON run.run_id = (waiting.args ->> 'run_id')::uuid
     WHERE waiting.status = 'todo' AND waiting.attempts > 0
       AND run.status NOT IN ('pending', 'running')
       AND engine.is_claimable(waiting, p_queues)
     LIMIT 1 FOR UPDATE OF waiting SKIP LOCKED;
    IF NOT FOUND THEN
        FOR candidate IN
            SELECT * FROM engine.users_in_turn(
                p_worker, p_slots, p_tenant_share, p_user_share, p_reserve)
        LOOP
            IF candidate.is_held_back THEN
                held_back := true;
                CONTINUE;
            END IF;
            SELECT waiting.* INTO job
              FROM engine.runs run
              JOIN procrastinate_jobs waiting ON waiting.id = run.job_id
             WHERE run.tenant = candidate.tenant AND run.owner = candidate.owner
               AND run.status IN ('pending', 'running')
               AND engine.is_claimable(waiting, p_queues)
             ORDER BY run.seq LIMIT 1
               FOR UPDATE OF waiting SKIP LOCKED;
            IF FOUND THEN
                INSERT INTO engine.turns (tenant, owner, taken_at)
                VALUES (candidate.tenant, candidate.owner, clock_timestamp())
                ON CONFLICT ON CONSTRAINT turns_pkey DO UPDATE SET taken_at = EXCLUDED.taken_at;
                EXIT;
            END IF;
        END LOOP;
    END IF;
    IF job.id IS NULL AND NOT held_back THEN
        -- Nothing of anybody's is left: now what belongs to no run that is still active.
        SELECT waiting.* INTO job
          FROM procrastinate_jobs waiting
         WHERE waiting.status = 'todo' AND engine.is_claimable(waiting, p_queues)
           AND NOT EXISTS (
               SELECT 1 FROM engine.runs run
                WHERE run.run_id = (waiting.args ->> 'run_id')::uuid
                  AND run.status IN ('pending', 'running'))
         LIMIT 1 FOR UPDATE OF waiting SKIP LOCKED;
    END IF;
    IF job.id IS NOT NULL THEN
        UPDATE procrastinate_jobs SET status = 'doing', worker_id = p_worker
         WHERE id = job.id
        RETURNING * INTO job;
    END IF;
    RETURN NEXT;
END;
$$;
