-- Whether part of the answer was streamed before the call was cut off, by a limit or because another
-- call of its step waits for the person. Such a charge is still free for whoever takes the step up
-- again, but it is not given back when the account closes.
ALTER TABLE payments.charges ADD COLUMN streamed boolean NOT NULL DEFAULT false;

-- The call failed: nothing was delivered, nothing is paid.
CREATE OR REPLACE FUNCTION payments.void(p_thread text, p_key text, p_now timestamptz)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    known payments.charges;
    mine  payments.sessions;
    found record;
BEGIN
    SELECT * INTO found FROM payments.lock_charge(p_thread, p_key);
    known := found.known;
    mine := found.mine;
    IF known.status IS DISTINCT FROM 'captured' OR mine.frozen_at IS NOT NULL THEN
        RETURN false;
    END IF;
    PERFORM payments.give_back(mine.session_id, p_key, known.amount, 'void', p_now);
    UPDATE payments.charges c SET status = 'voided', streamed = false
     WHERE c.thread_id = p_thread AND c.key = p_key;
    RETURN true;
END $$;
