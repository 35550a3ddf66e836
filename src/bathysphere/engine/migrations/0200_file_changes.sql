-- Changes of files in workspaces: written down before they are made, finished after.
CREATE TABLE engine.file_changes (
    change_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant         text        NOT NULL,
    workspace      text        NOT NULL,
    path           text        NOT NULL,
    action         text        NOT NULL,
    asked_by       text        NOT NULL,
    approver       text        NOT NULL,
    thread_id      uuid,
    run_id         uuid,
    call           text        NOT NULL,
    before_version text        NOT NULL,
    before         bytea,
    after_version  text,
    undoes         bigint      UNIQUE REFERENCES engine.file_changes (change_id),
    begun_at       timestamptz NOT NULL DEFAULT now(),
    finished_at    timestamptz,
    UNIQUE (tenant, thread_id, call)
);
CREATE INDEX file_changes_by_workspace ON engine.file_changes (tenant, workspace, change_id DESC);
