CREATE TABLE engine.effects (
    thread_id   uuid NOT NULL REFERENCES engine.threads ON DELETE CASCADE,
    namespace   text NOT NULL,
    task        text NOT NULL,
    call        text NOT NULL,
    run_id      uuid NOT NULL,
    result      jsonb,
    is_done     boolean NOT NULL DEFAULT false,
    begun_at    timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    PRIMARY KEY (thread_id, namespace, task, call)
);
