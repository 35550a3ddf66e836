-- What the operator took out of the vault. A proof is withdrawn once: its key says so.

CREATE TABLE payments.withdrawals (
    withdrawal_id text PRIMARY KEY,
    amount        bigint NOT NULL CHECK (amount > 0),
    made_at       timestamptz NOT NULL,
    leased_till   timestamptz NOT NULL,  -- until then the command that made it may still show it
    shown_at      timestamptz            -- when its token was printed; not yet: it is shown again
);
CREATE TABLE payments.withdrawn (
    y             text PRIMARY KEY REFERENCES payments.vault,
    withdrawal_id text NOT NULL REFERENCES payments.withdrawals
);
CREATE INDEX withdrawn_by ON payments.withdrawn (withdrawal_id);
CREATE TRIGGER withdrawn_stay BEFORE UPDATE OR DELETE ON payments.withdrawn
    FOR EACH ROW EXECUTE FUNCTION payments.never('a withdrawal');
CREATE TRIGGER withdrawals_stay BEFORE UPDATE ON payments.withdrawals
    FOR EACH ROW WHEN (NEW.amount <> OLD.amount) EXECUTE FUNCTION payments.never('a withdrawal');

--   withdrawn  what we earned and the operator took out of the vault
ALTER TABLE payments.entries DROP CONSTRAINT entries_debit_check;
ALTER TABLE payments.entries ADD CONSTRAINT entries_debit_check CHECK (debit IN
    ('mint', 'balance', 'earned', 'due', 'fees', 'vault', 'lost', 'withdrawn'));

-- Why the swaps of a closing session could not be written; it is tried again after the others.
ALTER TABLE payments.sessions ADD COLUMN freeze_error text;
