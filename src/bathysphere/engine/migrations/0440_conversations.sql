-- The words of conversations, for full-text search: what people and agents said, one row per
-- message. Written by the transaction that ends a run, and deleted with the thread.
CREATE TABLE engine.message_texts (
    thread_id  uuid NOT NULL REFERENCES engine.threads ON DELETE CASCADE,
    message_id text NOT NULL,
    role       text NOT NULL CHECK (role IN ('person', 'agent')),
    tenant     text NOT NULL,
    owner      text NOT NULL,
    position   integer NOT NULL,   -- in the thread
    body       text NOT NULL,      -- the beginning of a very long message
    words      tsvector NOT NULL,  -- each with the owner's tag: the index has no other column
    PRIMARY KEY (thread_id, message_id, role)
);
CREATE INDEX message_texts_words ON engine.message_texts USING gin (words);

GRANT SELECT ON engine.message_texts TO bathysphere_tenant;
ALTER TABLE engine.message_texts ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON engine.message_texts TO bathysphere_tenant
    USING (tenant = current_setting('app.tenant', true)
           AND owner = current_setting('app.owner', true));
