-- What hangs on a thread is seen with the thread, as before; but the thread is looked up by its key.
--
-- PostgreSQL made `EXISTS (SELECT 1 FROM engine.threads …)` a hash of all threads of the owner, once
-- for each statement and table, and priced it so high that every statement was compiled (JIT).
CREATE OR REPLACE FUNCTION engine.is_own_thread(p_thread uuid) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    -- The policy on threads applies here as well.
    RETURN EXISTS (SELECT 1 FROM engine.threads
                    WHERE thread_id = p_thread
                      AND tenant = current_setting('app.tenant', true)
                      AND owner = current_setting('app.owner', true));
END;
$$;

ALTER POLICY own ON engine.answers USING (engine.is_own_thread(thread_id));
ALTER POLICY own ON checkpoints USING (engine.is_own_thread(thread_id::uuid));
ALTER POLICY own ON checkpoint_blobs USING (engine.is_own_thread(thread_id::uuid));
ALTER POLICY own ON checkpoint_writes USING (engine.is_own_thread(thread_id::uuid));
