-- Stored assistants: a graph with settings of its own. Each version is kept; one is the current one.
--
-- The key begins with the owner: an id says nothing about, and takes nothing from, anybody else.
CREATE TABLE engine.assistants (
    tenant       text NOT NULL,
    owner        text NOT NULL,
    assistant_id uuid NOT NULL,
    version      integer NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, owner, assistant_id)
);

CREATE TABLE engine.assistant_versions (
    tenant       text NOT NULL,
    owner        text NOT NULL,
    assistant_id uuid NOT NULL,
    version      integer NOT NULL,
    graph        text NOT NULL,
    name         text NOT NULL,
    description  text,
    config       jsonb NOT NULL,
    context      jsonb NOT NULL,
    metadata     jsonb NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, owner, assistant_id, version),
    FOREIGN KEY (tenant, owner, assistant_id) REFERENCES engine.assistants ON DELETE CASCADE
);

GRANT SELECT ON engine.assistants, engine.assistant_versions TO bathysphere_tenant;
ALTER TABLE engine.assistants ENABLE ROW LEVEL SECURITY;
ALTER TABLE engine.assistant_versions ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON engine.assistants TO bathysphere_tenant
    USING (tenant = current_setting('app.tenant', true)
           AND owner = current_setting('app.owner', true));
CREATE POLICY own ON engine.assistant_versions TO bathysphere_tenant
    USING (tenant = current_setting('app.tenant', true)
           AND owner = current_setting('app.owner', true));
