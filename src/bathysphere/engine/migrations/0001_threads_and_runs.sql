CREATE SCHEMA IF NOT EXISTS engine;

CREATE TABLE engine.threads (
    thread_id  uuid PRIMARY KEY,
    tenant     text NOT NULL,
    owner      text NOT NULL,
    status     text NOT NULL DEFAULT 'idle'
               CHECK (status IN ('idle', 'busy', 'interrupted', 'error')),
    metadata   jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX threads_of_owner ON engine.threads (tenant, owner, updated_at DESC);

-- Each attempt at a run gets a number of its own, greater than all before it.
CREATE SEQUENCE engine.attempt_tokens;

CREATE TABLE engine.runs (
    run_id      uuid PRIMARY KEY,
    thread_id   uuid NOT NULL REFERENCES engine.threads ON DELETE CASCADE,
    tenant      text NOT NULL,
    owner       text NOT NULL,
    seq         bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    graph       text NOT NULL,
    work        jsonb NOT NULL,
    status      text NOT NULL DEFAULT 'pending' CHECK (status IN
                ('pending', 'running', 'success', 'error', 'interrupted', 'timeout', 'cancelled')),
    cancel      text CHECK (cancel IN ('interrupt', 'rollback')),
    attempt     integer NOT NULL DEFAULT 0,
    strikes     integer NOT NULL DEFAULT 0,
    token       bigint,              -- of the attempt that may write; NULL: nobody may
    tag         integer NOT NULL,    -- place in the fair order of tenants
    job_id      bigint,
    error       jsonb,
    created_at  timestamptz NOT NULL DEFAULT now(),
    started_at  timestamptz,
    finished_at timestamptz
);
CREATE INDEX runs_of_thread ON engine.runs (thread_id, seq);
CREATE INDEX runs_active_of_tenant ON engine.runs (tenant, tag)
    WHERE status IN ('pending', 'running');
CREATE INDEX runs_active_tag ON engine.runs (status, tag)
    WHERE status IN ('pending', 'running');

-- Writes a resumed run found on the checkpoint it resumed from: what a rollback puts back.
CREATE TABLE engine.writes_before (
    run_id        uuid NOT NULL REFERENCES engine.runs ON DELETE CASCADE,
    thread_id     text NOT NULL,
    checkpoint_ns text NOT NULL,
    checkpoint_id text NOT NULL,
    task_id       text NOT NULL,
    task_path     text NOT NULL,
    idx           integer NOT NULL,
    channel       text NOT NULL,
    type          text,
    blob          bytea NOT NULL
);
CREATE INDEX writes_before_of_run ON engine.writes_before (run_id);
