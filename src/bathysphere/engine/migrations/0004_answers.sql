CREATE TABLE engine.answers (
    thread_id    uuid NOT NULL REFERENCES engine.threads ON DELETE CASCADE,
    interrupt_id text NOT NULL,
    answer       jsonb NOT NULL,
    run_id       uuid,              -- the run that carries it; NULL: kept until the rest are answered
    answered_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (thread_id, interrupt_id)
);
