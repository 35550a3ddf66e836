-- What a model call cost beyond its charge. A charge is the most that the person agreed to pay, so
-- the rest is not taken; it is written down, for the operator to see.
ALTER TABLE payments.charges ADD COLUMN shortfall bigint NOT NULL DEFAULT 0 CHECK (shortfall >= 0);

--   shortfall  what calls cost beyond their charges, and we bear
--   forgone    the other side of it: what we did not charge
ALTER TABLE payments.entries DROP CONSTRAINT entries_debit_check;
ALTER TABLE payments.entries ADD CONSTRAINT entries_debit_check CHECK (debit IN
    ('mint', 'balance', 'earned', 'due', 'fees', 'vault', 'lost', 'withdrawn', 'shortfall'));
ALTER TABLE payments.entries DROP CONSTRAINT entries_credit_check;
ALTER TABLE payments.entries ADD CONSTRAINT entries_credit_check CHECK (credit IN
    ('mint', 'balance', 'earned', 'due', 'fees', 'vault', 'lost', 'forgone'));

-- The model answered: keep the answer, and of the charge only what the call cost.
CREATE OR REPLACE FUNCTION payments.complete(
    p_thread text, p_key text, p_amount bigint, p_memo bytea, p_now timestamptz
) RETURNS TABLE (outcome text, balance bigint, spent bigint, memo bytea)
LANGUAGE plpgsql AS $$
DECLARE
    known payments.charges;
    mine  payments.sessions;
    found record;
    kept  bigint;
    short bigint;
BEGIN
    SELECT * INTO found FROM payments.lock_charge(p_thread, p_key);
    known := found.known;
    mine := found.mine;
    IF known.status = 'done' THEN
        RETURN QUERY SELECT 'done', mine.balance, mine.spent, known.memo;
        RETURN;
    ELSIF known.status IS NULL OR known.status = 'voided' THEN
        RETURN QUERY SELECT 'voided', mine.balance, mine.spent, NULL::bytea;
        RETURN;
    END IF;
    kept := known.amount;
    short := greatest(p_amount - known.amount, 0);
    IF mine.frozen_at IS NULL AND p_amount < known.amount THEN
        kept := greatest(p_amount, 1);
        IF kept < known.amount THEN
            PERFORM payments.give_back(
                mine.session_id, p_key, known.amount - kept, 'release', p_now);
        END IF;
    ELSIF short > 0 THEN
        INSERT INTO payments.entries (session_id, kind, ref, debit, credit, amount, made_at)
        VALUES (mine.session_id, 'shortfall', p_key, 'shortfall', 'forgone', short, p_now);
    END IF;
    UPDATE payments.charges c SET status = 'done', amount = kept, shortfall = short,
                                  memo = p_memo, done_at = p_now
     WHERE c.thread_id = p_thread AND c.key = p_key;
    RETURN QUERY SELECT 'completed', mine.balance + known.amount - kept,
                        mine.spent - known.amount + kept, NULL::bytea;
END $$;
