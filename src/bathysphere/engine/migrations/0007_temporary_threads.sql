-- A stateless run: its thread goes with it, whoever is still listening.
--
-- Idempotent, because databases exist that applied this file as 0006_temporary_threads.sql. That name
-- stays recorded beside this one, so that a process of the older version remains ready meanwhile.
ALTER TABLE engine.runs ADD COLUMN IF NOT EXISTS deletes_thread boolean NOT NULL DEFAULT false;
CREATE INDEX IF NOT EXISTS runs_that_delete_their_thread ON engine.runs (finished_at)
    WHERE deletes_thread;
