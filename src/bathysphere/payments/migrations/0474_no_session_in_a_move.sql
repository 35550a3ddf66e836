-- A move between cells leaves money where it is, and has made sure that there is none: a session
-- that is opened after that would be left behind.
CREATE TRIGGER engine_enter_tenant BEFORE INSERT ON payments.sessions
    FOR EACH ROW EXECUTE FUNCTION engine.enter_tenant_of_row();
