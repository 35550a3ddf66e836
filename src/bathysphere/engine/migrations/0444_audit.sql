-- What operators and people did that matters afterwards. Rows are only ever added: each one's hash
-- covers the row before it, so that a change, a removal or an insertion breaks every later hash.
--
-- People are named by a commitment (HMAC of their name with a random salt), which the hashes cover.
-- Names and salts are in a table of their own: deleting a person's row there leaves the chain intact
-- and nothing that leads back to the name.
CREATE TABLE engine.audit (
    seq     bigint PRIMARY KEY,     -- 1, 2, 3 ...: without gaps
    at      timestamptz NOT NULL,
    tenant  text NOT NULL,          -- whose it is; '' is the whole deployment
    actor   text,                   -- a person; NULL is the operator, by a command
    person  text,                   -- the user whose it is; NULL is nobody in particular
    action  text NOT NULL,
    subject text NOT NULL,          -- the id of what was acted on
    details jsonb NOT NULL,         -- texts, integers and booleans; no contents, no secrets
    hash    text NOT NULL           -- SHA-256 of the hash before and this row, in hexadecimal
);
CREATE INDEX audit_of_tenant ON engine.audit (tenant, seq);

CREATE TABLE engine.audit_people (
    person_id text PRIMARY KEY,
    tenant    text NOT NULL,
    owner     text NOT NULL,
    salt      bytea NOT NULL,
    UNIQUE (tenant, owner)
);

CREATE FUNCTION engine.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'Rows of %.% are never changed', TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END;
$$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON engine.audit
    FOR EACH STATEMENT EXECUTE FUNCTION engine.refuse_change();
CREATE TRIGGER unchanged BEFORE UPDATE OR TRUNCATE ON engine.audit_people
    FOR EACH STATEMENT EXECUTE FUNCTION engine.refuse_change();

-- Nothing of it is shown to tenants.
ALTER TABLE engine.audit ENABLE ROW LEVEL SECURITY;
ALTER TABLE engine.audit_people ENABLE ROW LEVEL SECURITY;
