-- What runs used: tokens, calls, working time and cost.
--
-- A model call has a row from the moment before the model is asked, so that a worker that dies
-- loses none. Rows of calls that ended move to the run's usage in the transaction that ends the run.
-- A call whose worker died stays here, with the estimate of its input; the sum of both tables is
-- right at every moment, and every call is in it once. Neither table refers to runs: what was used
-- stays used when a thread is deleted.
CREATE TABLE engine.model_calls (
    call_id       uuid PRIMARY KEY,
    run_id        uuid NOT NULL,
    tenant        text NOT NULL,
    owner         text NOT NULL,
    graph         text NOT NULL,
    model         text NOT NULL,             -- provider:name
    input_tokens  bigint NOT NULL,           -- estimated until the call has ended
    output_tokens bigint NOT NULL DEFAULT 0,
    is_estimated  boolean NOT NULL DEFAULT true,
    is_ended      boolean NOT NULL DEFAULT false,
    cost          numeric,                   -- NULL without a price
    currency      text NOT NULL DEFAULT '',
    tool_calls    integer NOT NULL,          -- of the run, since its model call before
    seconds       double precision NOT NULL, -- likewise
    started_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX model_calls_of_run ON engine.model_calls (run_id);
CREATE INDEX model_calls_of_owner ON engine.model_calls (tenant, owner, started_at);

-- One row per run and model, and one without a model for the run itself.
CREATE TABLE engine.usage (
    run_id          uuid NOT NULL,
    model           text NOT NULL,
    currency        text NOT NULL,
    tenant          text NOT NULL,
    owner           text NOT NULL,
    graph           text NOT NULL,
    model_calls     bigint NOT NULL,
    estimated_calls bigint NOT NULL,         -- of these: tokens were not reported
    input_tokens    bigint NOT NULL,
    output_tokens   bigint NOT NULL,
    tool_calls      bigint NOT NULL,
    seconds         double precision NOT NULL,
    cost            numeric,
    finished_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, model, currency)
);
CREATE INDEX usage_of_owner ON engine.usage (tenant, owner, finished_at);
CREATE INDEX usage_by_time ON engine.usage (finished_at);

GRANT SELECT ON engine.model_calls, engine.usage TO bathysphere_tenant;
ALTER TABLE engine.model_calls ENABLE ROW LEVEL SECURITY;
ALTER TABLE engine.usage ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON engine.model_calls TO bathysphere_tenant
    USING (tenant = current_setting('app.tenant', true)
           AND owner = current_setting('app.owner', true));
CREATE POLICY own ON engine.usage TO bathysphere_tenant
    USING (tenant = current_setting('app.tenant', true)
           AND owner = current_setting('app.owner', true));

-- Add what a run used since the last time to its usage; a run that is replayed ends twice.
CREATE FUNCTION engine.record_usage(p_run uuid, p_tool_calls bigint, p_seconds double precision)
RETURNS void LANGUAGE sql AS $$
WITH moved AS (
    DELETE FROM engine.model_calls WHERE run_id = p_run AND is_ended
    RETURNING model, currency, is_estimated, input_tokens, output_tokens, tool_calls, seconds, cost
), used AS (
    SELECT model, currency, count(*) AS model_calls,
           count(*) FILTER (WHERE is_estimated) AS estimated_calls,
           sum(input_tokens)::bigint AS input_tokens, sum(output_tokens)::bigint AS output_tokens,
           0::bigint AS tool_calls, 0::double precision AS seconds, sum(cost) AS cost
      FROM moved GROUP BY model, currency
    UNION ALL
    SELECT '', '', 0, 0, 0, 0, p_tool_calls + COALESCE(sum(tool_calls), 0)::bigint,
           p_seconds + COALESCE(sum(seconds), 0), NULL
      FROM moved
)
INSERT INTO engine.usage AS usage
       (run_id, model, currency, tenant, owner, graph, model_calls, estimated_calls, input_tokens,
        output_tokens, tool_calls, seconds, cost)
SELECT run.run_id, used.model, used.currency, run.tenant, run.owner, run.graph, used.model_calls,
       used.estimated_calls, used.input_tokens, used.output_tokens, used.tool_calls, used.seconds,
       used.cost
  FROM used, engine.runs run
 WHERE run.run_id = p_run
ON CONFLICT (run_id, model, currency) DO UPDATE
   SET model_calls = usage.model_calls + EXCLUDED.model_calls,
       estimated_calls = usage.estimated_calls + EXCLUDED.estimated_calls,
       input_tokens = usage.input_tokens + EXCLUDED.input_tokens,
       output_tokens = usage.output_tokens + EXCLUDED.output_tokens,
       tool_calls = usage.tool_calls + EXCLUDED.tool_calls,
       seconds = usage.seconds + EXCLUDED.seconds,
       cost = CASE WHEN usage.cost IS NULL THEN EXCLUDED.cost
                   ELSE usage.cost + COALESCE(EXCLUDED.cost, 0) END,
       finished_at = now()
$$;

-- The ordinary end of a run, with its usage.
CREATE FUNCTION engine.finish_run(
    p_run uuid, p_thread uuid, p_token bigint, p_status text,
    p_tool_calls bigint, p_seconds double precision
) RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
    ended_at timestamptz := engine.finish_run(p_run, p_thread, p_token, p_status);
BEGIN
    IF ended_at IS NOT NULL THEN
        PERFORM engine.record_usage(p_run, p_tool_calls, p_seconds);
    END IF;
    RETURN ended_at;
END;
$$;
