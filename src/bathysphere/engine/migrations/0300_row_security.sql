-- Row-level security: a second wall behind the ownership clauses of our statements.
--
-- What an owner reads is read as the role bathysphere_tenant, which sees the rows of the owner that
-- the transaction names (app.tenant, app.owner, app.space) and can change nothing. Workers and the
-- queue work for all tenants and read as the tables' owner, whom policies do not bind.
DO $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'bathysphere_tenant') THEN
        CREATE ROLE bathysphere_tenant NOLOGIN;
    END IF;
EXCEPTION
    WHEN duplicate_object OR unique_violation THEN NULL;  -- another database's migration was first
    WHEN insufficient_privilege THEN
        RAISE EXCEPTION 'The role bathysphere_tenant is missing and may not be created'
            USING HINT = format('as a superuser: CREATE ROLE bathysphere_tenant NOLOGIN;'
                                ' GRANT bathysphere_tenant TO %I;', current_user);
END;
$$;

DO $$
BEGIN
    IF NOT pg_has_role(current_user, 'bathysphere_tenant', 'MEMBER') THEN
        EXECUTE format('GRANT bathysphere_tenant TO %I', current_user);
    END IF;
END;
$$;

GRANT USAGE ON SCHEMA engine TO bathysphere_tenant;
GRANT SELECT ON engine.threads, engine.runs, engine.answers, engine.file_changes,
                checkpoints, checkpoint_blobs, checkpoint_writes
   TO bathysphere_tenant;
-- LangGraph's statement for reading items names an update, of those whose time is to be renewed.
GRANT SELECT, UPDATE ON store TO bathysphere_tenant;

ALTER TABLE engine.threads ENABLE ROW LEVEL SECURITY;
ALTER TABLE engine.runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE engine.answers ENABLE ROW LEVEL SECURITY;
ALTER TABLE engine.file_changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE checkpoints ENABLE ROW LEVEL SECURITY;
ALTER TABLE checkpoint_blobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE checkpoint_writes ENABLE ROW LEVEL SECURITY;
ALTER TABLE store ENABLE ROW LEVEL SECURITY;

CREATE POLICY own ON engine.threads TO bathysphere_tenant
    USING (tenant = current_setting('app.tenant', true)
           AND owner = current_setting('app.owner', true));
CREATE POLICY own ON engine.runs TO bathysphere_tenant
    USING (tenant = current_setting('app.tenant', true)
           AND owner = current_setting('app.owner', true));
CREATE POLICY own ON engine.file_changes TO bathysphere_tenant
    USING (tenant = current_setting('app.tenant', true));
-- What hangs on a thread is seen with the thread: the policy above binds the look-up, too.
CREATE POLICY own ON engine.answers TO bathysphere_tenant
    USING (EXISTS (SELECT 1 FROM engine.threads t WHERE t.thread_id = answers.thread_id));
CREATE POLICY own ON checkpoints TO bathysphere_tenant
    USING (EXISTS (SELECT 1 FROM engine.threads t WHERE t.thread_id = checkpoints.thread_id::uuid));
CREATE POLICY own ON checkpoint_blobs TO bathysphere_tenant
    USING (EXISTS (SELECT 1 FROM engine.threads t
                    WHERE t.thread_id = checkpoint_blobs.thread_id::uuid));
CREATE POLICY own ON checkpoint_writes TO bathysphere_tenant
    USING (EXISTS (SELECT 1 FROM engine.threads t
                    WHERE t.thread_id = checkpoint_writes.thread_id::uuid));
CREATE POLICY own ON store TO bathysphere_tenant
    USING (prefix = 'owners.' || current_setting('app.space', true)
           OR starts_with(prefix, 'owners.' || current_setting('app.space', true) || '.')
           OR starts_with(prefix, 'engine.' || current_setting('app.space', true) || '.'));
