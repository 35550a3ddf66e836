-- Shared snapshots of conversations: a copy of what was said, which whoever has the link can read
-- until it expires or is revoked. Deleted with the thread.
CREATE TABLE engine.shares (
    share_id   text PRIMARY KEY,     -- of the link: 256 random bits
    thread_id  uuid NOT NULL REFERENCES engine.threads ON DELETE CASCADE,
    tenant     text NOT NULL,
    owner      text NOT NULL,
    title      text NOT NULL,
    messages   jsonb NOT NULL,       -- [{role, text}]
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX shares_of_thread ON engine.shares (thread_id);
CREATE INDEX shares_of_tenant ON engine.shares (tenant);
CREATE INDEX shares_expiry ON engine.shares (expires_at);

GRANT SELECT ON engine.shares TO bathysphere_tenant;
ALTER TABLE engine.shares ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON engine.shares TO bathysphere_tenant
    USING (tenant = current_setting('app.tenant', true)
           AND owner = current_setting('app.owner', true));
