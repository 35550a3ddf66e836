-- The ids of the keys that contents are encrypted with, each with a value that only that key opens:
-- a process with a wrong or missing key says so when it starts.
CREATE TABLE engine.encryption_keys (
    key_id   text PRIMARY KEY,
    proof    jsonb NOT NULL,
    added_at timestamptz NOT NULL DEFAULT now()
);
