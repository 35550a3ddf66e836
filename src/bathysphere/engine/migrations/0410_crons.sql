-- Schedules: each due time creates one run, in the transaction that moves next_run_at on.
CREATE TABLE engine.crons (
    cron_id          uuid PRIMARY KEY,
    tenant           text NOT NULL,
    owner            text NOT NULL,
    thread_id        uuid REFERENCES engine.threads ON DELETE CASCADE,  -- NULL: one per run
    graph            text NOT NULL,
    assistant_id     uuid NOT NULL,
    schedule         text NOT NULL,
    timezone         text,
    end_time         timestamptz,
    next_run_at      timestamptz,         -- NULL: it has no further run
    enabled          boolean NOT NULL DEFAULT true,
    disabled_reason  text,                -- why the server disabled it
    payload          jsonb NOT NULL,      -- the request, for clients
    work             jsonb NOT NULL,      -- the work of each run
    strategy         text NOT NULL CHECK (strategy IN ('reject', 'enqueue', 'interrupt', 'rollback')),
    keeps_thread     boolean NOT NULL DEFAULT false,
    metadata         jsonb NOT NULL DEFAULT '{}',
    key_id           text,                -- the API key it was made with; it ends with the key
    authorized_until timestamptz,         -- when an identity without a key must renew it
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX crons_due ON engine.crons (next_run_at) WHERE enabled AND next_run_at IS NOT NULL;
CREATE INDEX crons_of_owner ON engine.crons (tenant, owner, created_at DESC);
CREATE INDEX crons_of_thread ON engine.crons (thread_id) WHERE thread_id IS NOT NULL;

GRANT SELECT ON engine.crons TO bathysphere_tenant;
ALTER TABLE engine.crons ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON engine.crons TO bathysphere_tenant
    USING (tenant = current_setting('app.tenant', true)
           AND owner = current_setting('app.owner', true));
