-- The ledger of prepaid use. What can be a constraint is one; the rest is in payments.audit.
CREATE SCHEMA IF NOT EXISTS payments;

CREATE TABLE payments.sessions (
    session_id     text PRIMARY KEY,    -- the server's key for the session is made from this
    thread_id      text NOT NULL,
    epoch          integer NOT NULL,    -- money that comes after a close goes to the next one
    tenant         text NOT NULL,
    owner          text NOT NULL,
    mint_url       text NOT NULL,
    unit           text NOT NULL,
    session_pubkey text NOT NULL,
    refund_pubkey  text NOT NULL,
    status         text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'closing', 'closed')),
    credited       bigint NOT NULL DEFAULT 0 CHECK (credited >= 0),
    spent          bigint NOT NULL DEFAULT 0 CHECK (spent >= 0),
    refunded       bigint NOT NULL DEFAULT 0 CHECK (refunded >= 0),
    balance        bigint GENERATED ALWAYS AS (credited - spent - refunded) STORED,
    expires_at     timestamptz,         -- shortly before the first locktime; no charge after it
    opened_at      timestamptz NOT NULL,
    used_at        timestamptz NOT NULL,
    closing_at     timestamptz,
    frozen_at      timestamptz,         -- from here on what was spent and what goes back stand still
    closed_at      timestamptz,
    UNIQUE (thread_id, epoch),
    CHECK (spent + refunded <= credited),
    CHECK (frozen_at IS NULL OR (status <> 'open' AND spent + refunded = credited)),
    CHECK (status <> 'closed' OR frozen_at IS NOT NULL)
);
CREATE UNIQUE INDEX sessions_open ON payments.sessions (thread_id) WHERE status = 'open';
CREATE INDEX sessions_not_closed ON payments.sessions (status) WHERE status <> 'closed';

CREATE TABLE payments.deposits (
    deposit_id text PRIMARY KEY,
    session_id text NOT NULL REFERENCES payments.sessions,
    seq        bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    status     text NOT NULL DEFAULT 'accepted'
               CHECK (status IN ('accepted', 'settling', 'settled', 'lost')),
    face       bigint NOT NULL CHECK (face > 0),
    fee        bigint NOT NULL CHECK (fee >= 0),   -- of its one settlement, taken off at the start
    credited   bigint NOT NULL CHECK (credited > 0),
    consumed   bigint NOT NULL DEFAULT 0,
    locktime   timestamptz NOT NULL,
    made_at    timestamptz NOT NULL,
    CHECK (face = fee + credited),
    CHECK (consumed BETWEEN 0 AND credited)
);
CREATE INDEX deposits_of_session ON payments.deposits (session_id, seq);

-- A proof is known by its Y, once and for ever.
CREATE TABLE payments.proofs (
    y          text PRIMARY KEY,
    deposit_id text NOT NULL REFERENCES payments.deposits,
    amount     bigint NOT NULL CHECK (amount > 0),
    proof      bytea NOT NULL           -- encrypted
);
CREATE INDEX proofs_of_deposit ON payments.proofs (deposit_id);

-- One charge a model call: the key is the call's place in its thread.
CREATE TABLE payments.charges (
    thread_id  text NOT NULL,
    key        text NOT NULL,
    session_id text NOT NULL REFERENCES payments.sessions,
    amount     bigint NOT NULL CHECK (amount > 0),
    status     text NOT NULL CHECK (status IN ('captured', 'kept', 'done', 'voided')),
    holder     text NOT NULL,           -- the run that made the call last
    memo       bytea,                   -- what the model answered, for a step that is run again
    charged_at timestamptz NOT NULL,
    done_at    timestamptz,
    PRIMARY KEY (thread_id, key)
);
CREATE INDEX charges_of_session ON payments.charges (session_id, status);

CREATE TABLE payments.swaps (
    swap_id     text PRIMARY KEY,
    deposit_id  text NOT NULL REFERENCES payments.deposits,
    attempt     integer NOT NULL DEFAULT 1,
    status      text NOT NULL DEFAULT 'prepared'
                CHECK (status IN ('prepared', 'done', 'superseded', 'lost', 'stuck')),
    body        bytea NOT NULL,         -- what is posted to the mint; encrypted
    outputs     bytea NOT NULL,         -- secrets and blinding factors; encrypted
    earn        bigint NOT NULL CHECK (earn >= 0),
    refund      bigint NOT NULL CHECK (refund >= 0),
    fee         bigint NOT NULL CHECK (fee >= 0),
    tries       integer NOT NULL DEFAULT 0,
    pending_at  timestamptz,            -- since when the mint says that the inputs are pending
    last_error  text,
    due_at      timestamptz NOT NULL,
    leased_by   text,
    leased_till timestamptz,
    made_at     timestamptz NOT NULL,
    ended_at    timestamptz,
    UNIQUE (deposit_id, attempt),
    CHECK (earn + refund > 0)
);
CREATE UNIQUE INDEX swaps_live ON payments.swaps (deposit_id) WHERE status <> 'superseded';
CREATE INDEX swaps_due ON payments.swaps (due_at) WHERE status IN ('prepared', 'stuck');

-- What was earned: money at the mint, whoever has these proofs has it.
CREATE TABLE payments.vault (
    y       text PRIMARY KEY,
    swap_id text NOT NULL REFERENCES payments.swaps,
    amount  bigint NOT NULL CHECK (amount > 0),
    proof   bytea NOT NULL              -- encrypted
);
CREATE INDEX vault_of_swap ON payments.vault (swap_id);

-- What goes back: locked to the person's key, so nothing here is worth anything to anyone else.
CREATE TABLE payments.refunds (
    refund_id    text PRIMARY KEY,
    session_id   text NOT NULL REFERENCES payments.sessions,
    swap_id      text NOT NULL UNIQUE REFERENCES payments.swaps,
    amount       bigint NOT NULL CHECK (amount > 0),
    token        text NOT NULL,
    ys           text[] NOT NULL,
    status       text NOT NULL DEFAULT 'ready' CHECK (status IN ('ready', 'delivered', 'claimed')),
    made_at      timestamptz NOT NULL,
    asked_at     timestamptz,            -- when the mint was last asked whether it was taken
    delivered_at timestamptz,
    claimed_at   timestamptz
);
CREATE INDEX refunds_of_session ON payments.refunds (session_id);
CREATE INDEX refunds_unclaimed ON payments.refunds (made_at) WHERE status <> 'claimed';

-- The journal: every movement has two sides, and no line is ever changed.
--   mint     proofs we hold, locked to a session's key
--   balance  what people may still spend
--   earned   what we charged
--   due      what goes back to people and is not in a refund token yet
--   fees     what the mint takes for settlements
--   vault    what we earned and hold as proofs of our own
--   lost     what we charged and will never hold
CREATE TABLE payments.entries (
    entry_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session_id text NOT NULL REFERENCES payments.sessions,
    kind       text NOT NULL,
    ref        text NOT NULL,
    debit      text NOT NULL,
    credit     text NOT NULL,
    amount     bigint NOT NULL CHECK (amount > 0),
    made_at    timestamptz NOT NULL,
    CHECK (debit <> credit),
    CHECK (debit IN ('mint', 'balance', 'earned', 'due', 'fees', 'vault', 'lost')),
    CHECK (credit IN ('mint', 'balance', 'earned', 'due', 'fees', 'vault', 'lost'))
);
CREATE INDEX entries_of_session ON payments.entries (session_id);

CREATE FUNCTION payments.never() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % is never changed', TG_ARGV[0], TG_TABLE_NAME USING ERRCODE = '23514';
END $$;
CREATE TRIGGER entries_stay BEFORE UPDATE OR DELETE ON payments.entries
    FOR EACH ROW EXECUTE FUNCTION payments.never('a line');
CREATE TRIGGER proofs_stay BEFORE UPDATE OR DELETE ON payments.proofs
    FOR EACH ROW EXECUTE FUNCTION payments.never('a proof');
CREATE TRIGGER vault_stays BEFORE UPDATE ON payments.vault
    FOR EACH ROW EXECUTE FUNCTION payments.never('a proof');
-- The row is there before the POST, and what may have been posted is not changed.
CREATE TRIGGER swaps_stay BEFORE UPDATE ON payments.swaps
    FOR EACH ROW WHEN (NEW.body <> OLD.body OR NEW.outputs <> OLD.outputs OR NEW.earn <> OLD.earn
                       OR NEW.refund <> OLD.refund OR NEW.fee <> OLD.fee
                       OR (OLD.status IN ('done', 'superseded', 'lost')
                           AND NEW.status <> OLD.status))
    EXECUTE FUNCTION payments.never('what was posted');
-- A session that is closing takes no money in, and once frozen nothing moves.
CREATE TRIGGER sessions_stay BEFORE UPDATE ON payments.sessions
    FOR EACH ROW WHEN (
        (OLD.status <> 'open' AND (NEW.credited <> OLD.credited OR NEW.spent > OLD.spent
                                   OR NEW.status = 'open'))
        OR (OLD.frozen_at IS NOT NULL
            AND (NEW.spent, NEW.refunded, NEW.frozen_at)
                IS DISTINCT FROM (OLD.spent, OLD.refunded, OLD.frozen_at))
        OR (OLD.status = 'closed' AND NEW.status <> 'closed'))
    EXECUTE FUNCTION payments.never('a closed account');
CREATE TRIGGER sessions_remain BEFORE DELETE ON payments.sessions
    FOR EACH ROW EXECUTE FUNCTION payments.never('an account');

-- ── the hot path: one round trip each ──

-- Charge a call once. The session's row is locked first, so that of many charges at once each sees
-- what those before it left, and the same key is never charged twice. A call that was cancelled
-- under way is free for whoever takes the same run up, and costs again in another run: else one
-- charge would stream for as often as somebody cancels.
CREATE FUNCTION payments.charge(
    p_thread text, p_tenant text, p_owner text, p_key text, p_amount bigint, p_holder text,
    p_now timestamptz
) RETURNS TABLE (outcome text, balance bigint, spent bigint, memo bytea)
LANGUAGE plpgsql AS $$
DECLARE
    known payments.charges;
    mine  payments.sessions;
BEGIN
    SELECT * INTO mine FROM payments.sessions s
     WHERE s.thread_id = p_thread AND s.tenant = p_tenant AND s.owner = p_owner
       AND s.status = 'open'
       FOR NO KEY UPDATE;
    SELECT * INTO known FROM payments.charges c WHERE c.thread_id = p_thread AND c.key = p_key;
    IF known.status = 'done' THEN
        RETURN QUERY SELECT 'done', mine.balance, mine.spent, known.memo;
    ELSIF known.status = 'captured' OR (known.status = 'kept' AND known.holder = p_holder) THEN
        UPDATE payments.charges c SET holder = p_holder
         WHERE c.thread_id = p_thread AND c.key = p_key AND c.holder <> p_holder;
        RETURN QUERY SELECT 'charged', mine.balance, mine.spent, NULL::bytea;
    ELSIF mine.session_id IS NULL THEN
        RETURN QUERY SELECT 'no_session', 0::bigint, 0::bigint, NULL::bytea;
    ELSIF mine.expires_at <= p_now THEN
        RETURN QUERY SELECT 'expired', mine.balance, mine.spent, NULL::bytea;
    ELSIF mine.balance < p_amount THEN
        RETURN QUERY SELECT 'insufficient', mine.balance, mine.spent, NULL::bytea;
    ELSE
        UPDATE payments.sessions s SET spent = s.spent + p_amount, used_at = p_now
         WHERE s.session_id = mine.session_id;
        IF known.status = 'kept' THEN
            UPDATE payments.charges c SET key = p_key || '~' || gen_random_uuid()
             WHERE c.thread_id = p_thread AND c.key = p_key;
        END IF;
        INSERT INTO payments.charges AS c
               (thread_id, key, session_id, amount, status, holder, charged_at)
        VALUES (p_thread, p_key, mine.session_id, p_amount, 'captured', p_holder, p_now)
        ON CONFLICT (thread_id, key) DO UPDATE
           SET session_id = EXCLUDED.session_id, amount = EXCLUDED.amount, status = 'captured',
               holder = EXCLUDED.holder, charged_at = EXCLUDED.charged_at;
        INSERT INTO payments.entries (session_id, kind, ref, debit, credit, amount, made_at)
        VALUES (mine.session_id, 'charge', p_key, 'balance', 'earned', p_amount, p_now);
        RETURN QUERY SELECT 'charged', mine.balance - p_amount, mine.spent + p_amount, NULL::bytea;
    END IF;
END $$;

-- The account that has a charge, locked; a charge that another transaction moved is looked at again.
CREATE FUNCTION payments.lock_charge(
    p_thread text, p_key text, OUT known payments.charges, OUT mine payments.sessions
) LANGUAGE plpgsql AS $$
DECLARE
    before text;
BEGIN
    LOOP
        SELECT c.session_id INTO before FROM payments.charges c
         WHERE c.thread_id = p_thread AND c.key = p_key;
        SELECT * INTO mine FROM payments.sessions s WHERE s.session_id = before FOR NO KEY UPDATE;
        SELECT * INTO known FROM payments.charges c WHERE c.thread_id = p_thread AND c.key = p_key;
        EXIT WHEN known.session_id IS NOT DISTINCT FROM before;
    END LOOP;
END $$;

-- Give back a part of a charge, or all of it.
CREATE FUNCTION payments.give_back(
    p_session text, p_key text, p_amount bigint, p_kind text, p_now timestamptz
) RETURNS void LANGUAGE sql AS $$
    UPDATE payments.sessions s SET spent = s.spent - p_amount WHERE s.session_id = p_session;
    INSERT INTO payments.entries (session_id, kind, ref, debit, credit, amount, made_at)
    VALUES (p_session, p_kind, p_key, 'earned', 'balance', p_amount, p_now);
$$;

-- The model answered: keep the answer, and of the charge only what the call cost.
CREATE FUNCTION payments.complete(
    p_thread text, p_key text, p_amount bigint, p_memo bytea, p_now timestamptz
) RETURNS TABLE (outcome text, balance bigint, spent bigint, memo bytea)
LANGUAGE plpgsql AS $$
DECLARE
    known payments.charges;
    mine  payments.sessions;
    found record;
    kept  bigint;
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
    IF mine.frozen_at IS NULL AND p_amount < known.amount THEN
        kept := greatest(p_amount, 1);
        IF kept < known.amount THEN
            PERFORM payments.give_back(
                mine.session_id, p_key, known.amount - kept, 'release', p_now);
        END IF;
    END IF;
    UPDATE payments.charges c SET status = 'done', amount = kept, memo = p_memo, done_at = p_now
     WHERE c.thread_id = p_thread AND c.key = p_key;
    RETURN QUERY SELECT 'completed', mine.balance + known.amount - kept,
                        mine.spent - known.amount + kept, NULL::bytea;
END $$;

-- The call failed: nothing was delivered, nothing is paid.
CREATE FUNCTION payments.void(p_thread text, p_key text, p_now timestamptz) RETURNS boolean
LANGUAGE plpgsql AS $$
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
    UPDATE payments.charges c SET status = 'voided'
     WHERE c.thread_id = p_thread AND c.key = p_key;
    RETURN true;
END $$;
