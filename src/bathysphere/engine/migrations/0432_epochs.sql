-- The lives of this database: a restore from a backup begins another. Live events are kept per epoch,
-- so that what readers hold from before the restore is not taken for what happened after it. The
-- first has no name: its events have the keys of earlier versions.
CREATE TABLE engine.epochs (
    number   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    epoch    text NOT NULL UNIQUE,
    began_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO engine.epochs (epoch) VALUES ('');
