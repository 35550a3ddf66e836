-- A thread's own time to live: when it is deleted, whatever the project says of threads in general.
ALTER TABLE engine.threads ADD COLUMN ttl_minutes double precision;
ALTER TABLE engine.threads ADD COLUMN expires_at timestamptz;
CREATE INDEX threads_that_expire ON engine.threads (expires_at) WHERE expires_at IS NOT NULL;
