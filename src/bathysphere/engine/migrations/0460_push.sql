-- Browsers that want to be told by Web Push, and what is to be told: an outbox like that of webhooks.
CREATE TABLE engine.push_subscriptions (
    subscription_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    tenant          text NOT NULL,
    owner           text NOT NULL,
    endpoint        text NOT NULL UNIQUE, -- of the browser, at its push service; a browser is one person's
    receiver        text NOT NULL,        -- scheme and host of the endpoint
    p256dh          text NOT NULL,        -- the browser's public key, and what it authenticates with
    auth            text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    seen_at         timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX push_subscriptions_of_owner ON engine.push_subscriptions (tenant, owner);

GRANT SELECT ON engine.push_subscriptions TO bathysphere_tenant;
ALTER TABLE engine.push_subscriptions ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON engine.push_subscriptions TO bathysphere_tenant
    USING (tenant = current_setting('app.tenant', true)
           AND owner = current_setting('app.owner', true));

-- A row is written by the transaction that ends or pauses a run. It holds no content of the thread;
-- a later one for the same thread takes its place.
CREATE TABLE engine.push_notices (
    notice_id       uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    subscription_id uuid NOT NULL REFERENCES engine.push_subscriptions ON DELETE CASCADE,
    thread_id       uuid NOT NULL REFERENCES engine.threads ON DELETE CASCADE,
    run_id          uuid NOT NULL REFERENCES engine.runs ON DELETE CASCADE,
    tenant          text NOT NULL,
    owner           text NOT NULL,
    receiver        text NOT NULL,
    news            text NOT NULL CHECK (news IN ('waiting', 'done', 'failed')),
    attempts        integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL,
    last_error      text,
    dead_at         timestamptz,
    created_at      timestamptz NOT NULL DEFAULT now(),
    UNIQUE (subscription_id, thread_id)
);
CREATE INDEX push_notices_pending ON engine.push_notices (next_attempt_at) WHERE dead_at IS NULL;
CREATE INDEX push_notices_of_run ON engine.push_notices (run_id);
CREATE INDEX push_notices_of_thread ON engine.push_notices (thread_id);
-- Without a policy, only workers read it: they send as the tables' owner.
ALTER TABLE engine.push_notices ENABLE ROW LEVEL SECURITY;

CREATE FUNCTION engine.add_push_notices() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO engine.push_notices AS notice
           (subscription_id, thread_id, run_id, tenant, owner, receiver, news, next_attempt_at)
    SELECT subscription_id, NEW.thread_id, NEW.run_id, tenant, owner, receiver,
           CASE NEW.status WHEN 'interrupted' THEN 'waiting' WHEN 'success' THEN 'done'
                           ELSE 'failed' END,
           -- A page answers some pauses itself: then the thread is busy again before this is due.
           now() + interval '5 seconds'
      FROM engine.push_subscriptions
     WHERE tenant = NEW.tenant AND owner = NEW.owner
       -- One that is being removed is left out: a run must end whatever happens to browsers.
       FOR KEY SHARE SKIP LOCKED
    ON CONFLICT (subscription_id, thread_id) DO UPDATE
       -- With an id of its own: who is sending the one before does not remove this one.
       SET notice_id = gen_random_uuid(), run_id = EXCLUDED.run_id, news = EXCLUDED.news,
           next_attempt_at = EXCLUDED.next_attempt_at, attempts = 0, last_error = NULL,
           dead_at = NULL, created_at = now();
    RETURN NULL;
END;
$$;

CREATE TRIGGER engine_add_push_notices
    AFTER UPDATE OF status ON engine.runs
    FOR EACH ROW WHEN (OLD.status IN ('pending', 'running')
                       AND NEW.status IN ('interrupted', 'success', 'error', 'timeout')
                       AND NOT NEW.deletes_thread)
    EXECUTE FUNCTION engine.add_push_notices();
