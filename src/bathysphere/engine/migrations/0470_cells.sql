-- Which tenants live in this database, where there are several: a cell is a database with its
-- workers and API processes. A tenant without a row is here; only a move changes that.
--
--   here     as every tenant of a deployment with one cell
--   leaving  its requests wait at the API; runs go on
--   moving   nobody writes for it any more; its rows are being copied
--   left     another cell has it
CREATE TABLE engine.cell_tenants (
    tenant     text PRIMARY KEY,
    state      text NOT NULL CHECK (state IN ('here', 'leaving', 'moving', 'left')),
    other      text,                -- the cell it moves to, or came from
    move       uuid,                -- by which it leaves or has left this cell
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX cell_tenants_between ON engine.cell_tenants (tenant) WHERE state IN ('leaving', 'moving');
CREATE INDEX cell_tenants_left ON engine.cell_tenants (changed_at) WHERE state = 'left';
-- LangGraph's statement for reading items names an update, so that the triggers below run as a tenant.
GRANT SELECT ON engine.cell_tenants TO bathysphere_tenant;
ALTER TABLE engine.cell_tenants ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON engine.cell_tenants TO bathysphere_tenant
    USING (tenant = current_setting('app.tenant', true));

-- The moves that have brought a tenant here. A row is written with the copy and stays: that a tenant
-- is here, or was, does not say by which move.
CREATE TABLE engine.cell_arrivals (
    move       uuid PRIMARY KEY,
    tenant     text NOT NULL,
    source     text NOT NULL,
    arrived_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE FUNCTION engine.is_tenant_here(p_tenant text) RETURNS boolean LANGUAGE sql STABLE AS $$
SELECT NOT EXISTS (SELECT 1 FROM engine.cell_tenants WHERE tenant = p_tenant AND state <> 'here')
$$;

-- Whoever changes something of a tenant holds this lock until its transaction ends, and a move takes
-- the lock alone, for a moment, once the tenant is closed: then nobody is left who began before.
--
-- Called for every row, so what a transaction has done once it does not do again: a setting says
-- which tenant it entered last, and ends with the lock, also where a savepoint is rolled back.
CREATE FUNCTION engine.enter_tenant(p_tenant text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    ignored text;
BEGIN
    IF current_setting('app.entered', true) = 'tenant ' || p_tenant THEN
        RETURN;
    END IF;
    ignored := pg_advisory_xact_lock_shared(1667591276, hashtext(p_tenant));
    -- A statement of its own: it sees what was committed while this one waited for the lock.
    IF EXISTS (SELECT 1 FROM engine.cell_tenants
                WHERE tenant = p_tenant AND state IN ('moving', 'left'))
       AND current_setting('app.moving', true) IS DISTINCT FROM p_tenant THEN
        RAISE EXCEPTION 'the tenant moves to another cell' USING ERRCODE = 'BC001';
    END IF;
    ignored := set_config('app.entered', 'tenant ' || p_tenant, true);
END;
$$;

CREATE FUNCTION engine.enter_tenant_of_row() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    ignored text;
BEGIN
    IF TG_OP = 'DELETE' THEN
        ignored := engine.enter_tenant(OLD.tenant);
        RETURN OLD;
    END IF;
    ignored := engine.enter_tenant(NEW.tenant);
    RETURN NEW;
END;
$$;

-- The store's prefixes are owners.<tenant>.<user>… and engine.<tenant>.<user>…, with dots escaped.
CREATE FUNCTION engine.tenant_of_prefix(p_prefix text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
SELECT CASE split_part(p_prefix, '.', 2)
       WHEN '%' THEN ''
       ELSE replace(replace(split_part(p_prefix, '.', 2), '%2E', '.'), '%25', '%') END
 WHERE split_part(p_prefix, '.', 1) IN ('owners', 'engine')
$$;

CREATE FUNCTION engine.enter_tenant_of_item() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    ignored text;
    found text := engine.tenant_of_prefix(
        CASE TG_OP WHEN 'DELETE' THEN OLD.prefix ELSE NEW.prefix END);
BEGIN
    IF found IS NOT NULL THEN
        ignored := engine.enter_tenant(found);
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END;
$$;

CREATE TRIGGER engine_enter_tenant BEFORE INSERT OR UPDATE OR DELETE ON engine.threads
    FOR EACH ROW EXECUTE FUNCTION engine.enter_tenant_of_row();
CREATE TRIGGER engine_enter_tenant BEFORE INSERT OR UPDATE OR DELETE ON engine.runs
    FOR EACH ROW EXECUTE FUNCTION engine.enter_tenant_of_row();
CREATE TRIGGER engine_enter_tenant BEFORE INSERT OR UPDATE OR DELETE ON engine.file_changes
    FOR EACH ROW EXECUTE FUNCTION engine.enter_tenant_of_row();
CREATE TRIGGER engine_enter_tenant BEFORE INSERT OR UPDATE OR DELETE ON engine.assistants
    FOR EACH ROW EXECUTE FUNCTION engine.enter_tenant_of_row();
CREATE TRIGGER engine_enter_tenant BEFORE INSERT OR UPDATE OR DELETE ON engine.assistant_versions
    FOR EACH ROW EXECUTE FUNCTION engine.enter_tenant_of_row();
CREATE TRIGGER engine_enter_tenant BEFORE INSERT OR UPDATE OR DELETE ON engine.crons
    FOR EACH ROW EXECUTE FUNCTION engine.enter_tenant_of_row();
CREATE TRIGGER engine_enter_tenant BEFORE INSERT OR UPDATE OR DELETE ON engine.webhooks
    FOR EACH ROW EXECUTE FUNCTION engine.enter_tenant_of_row();
CREATE TRIGGER engine_enter_tenant BEFORE INSERT OR UPDATE OR DELETE ON engine.message_texts
    FOR EACH ROW EXECUTE FUNCTION engine.enter_tenant_of_row();
CREATE TRIGGER engine_enter_tenant BEFORE INSERT OR UPDATE OR DELETE ON engine.shares
    FOR EACH ROW EXECUTE FUNCTION engine.enter_tenant_of_row();
CREATE TRIGGER engine_enter_tenant BEFORE INSERT OR UPDATE OR DELETE ON engine.usage
    FOR EACH ROW EXECUTE FUNCTION engine.enter_tenant_of_row();
CREATE TRIGGER engine_enter_tenant BEFORE INSERT OR UPDATE OR DELETE ON engine.model_calls
    FOR EACH ROW EXECUTE FUNCTION engine.enter_tenant_of_row();
CREATE TRIGGER engine_enter_tenant BEFORE INSERT OR UPDATE OR DELETE ON engine.budgets
    FOR EACH ROW EXECUTE FUNCTION engine.enter_tenant_of_row();
CREATE TRIGGER engine_enter_tenant BEFORE INSERT OR UPDATE OR DELETE ON engine.push_subscriptions
    FOR EACH ROW EXECUTE FUNCTION engine.enter_tenant_of_row();
CREATE TRIGGER engine_enter_tenant BEFORE INSERT OR UPDATE OR DELETE ON engine.push_notices
    FOR EACH ROW EXECUTE FUNCTION engine.enter_tenant_of_row();
-- Not when a key was last used: that is written for every request, also one that will wait.
CREATE TRIGGER engine_enter_tenant
    BEFORE INSERT OR UPDATE OF revoked_at, expires_at, label OR DELETE ON identity.api_keys
    FOR EACH ROW EXECUTE FUNCTION engine.enter_tenant_of_row();
CREATE TRIGGER engine_enter_tenant BEFORE INSERT OR UPDATE OR DELETE ON store
    FOR EACH ROW EXECUTE FUNCTION engine.enter_tenant_of_item();
