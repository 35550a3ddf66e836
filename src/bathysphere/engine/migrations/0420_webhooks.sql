-- Webhooks to send: an outbox. A row is written by the transaction that ends a run, so there is one
-- exactly if the run has ended. It holds no content of the thread, and goes with its run.
CREATE TABLE engine.webhooks (
    webhook_id      uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    run_id          uuid NOT NULL REFERENCES engine.runs ON DELETE CASCADE,
    tenant          text NOT NULL,
    owner           text NOT NULL,
    url             text NOT NULL,
    receiver        text NOT NULL,       -- scheme and host of the URL
    checkpoint_id   text,                -- the thread's state when the run ended
    attempts        integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    last_error      text,
    dead_at         timestamptz,         -- when sending was given up
    created_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX webhooks_pending ON engine.webhooks (next_attempt_at) WHERE dead_at IS NULL;
CREATE INDEX webhooks_of_run ON engine.webhooks (run_id);
-- Without a policy, only workers read it: they send as the tables' owner.
ALTER TABLE engine.webhooks ENABLE ROW LEVEL SECURITY;

CREATE FUNCTION engine.add_webhook() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO engine.webhooks (run_id, tenant, owner, url, receiver, checkpoint_id)
    SELECT run.run_id, run.tenant, run.owner, run.work ->> 'webhook',
           COALESCE(lower(substring(run.work ->> 'webhook' FROM '^[A-Za-z]+://[^/?#]+')), ''),
           (SELECT max(checkpoint_id) FROM checkpoints
             WHERE thread_id = run.thread_id::text AND checkpoint_ns = '')
      FROM engine.runs run WHERE run.run_id = NEW.run_id;
    RETURN NULL;
END;
$$;

-- Deferred to the commit: a rollback of the run's changes comes after the change of its status.
CREATE CONSTRAINT TRIGGER engine_add_webhook
    AFTER UPDATE OF status ON engine.runs
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.status IN ('pending', 'running')
                       AND NEW.status NOT IN ('pending', 'running')
                       AND NEW.work ? 'webhook')
    EXECUTE FUNCTION engine.add_webhook();
