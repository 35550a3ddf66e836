-- The messages of the current owner that have the words of a query.
--
-- Under row-level security an index serves only operators that are known to leak nothing, and the
-- one of full-text search is not: every search read the messages of all owners. So this reads as the
-- tables' owner, and shows what the policy would: the rows of the owner that the transaction names.
CREATE OR REPLACE FUNCTION engine.own_messages(p_query tsquery)
RETURNS TABLE (thread_id uuid, message_id text, role text, "position" integer)
LANGUAGE plpgsql STABLE ROWS 20 SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
    SELECT said.thread_id, said.message_id, said.role, said.position
      FROM engine.message_texts said
     WHERE said.words @@ p_query
       AND said.tenant = current_setting('app.tenant', true)
       AND said.owner = current_setting('app.owner', true);
END;
$$;
