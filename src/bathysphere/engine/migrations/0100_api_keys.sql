-- Keys are kept as SHA-256 of 256 random bits: nothing in this table lets anyone in.
CREATE SCHEMA IF NOT EXISTS identity;

CREATE TABLE identity.api_keys (
    key_id       text PRIMARY KEY,     -- the part of the key that may be shown
    digest       bytea NOT NULL,
    tenant       text NOT NULL,
    owner        text NOT NULL,
    label        text NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz
);
