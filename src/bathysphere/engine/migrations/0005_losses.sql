-- Attempts whose worker was lost with no progress in between, and how far the run was at the last attempt.
ALTER TABLE engine.runs ADD COLUMN losses integer NOT NULL DEFAULT 0, ADD COLUMN progress text;
