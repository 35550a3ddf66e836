-- What a tenant, or a user of it, may use per calendar month (UTC). Set by the operator.
CREATE TABLE engine.budgets (
    tenant text NOT NULL,
    owner  text NOT NULL,   -- '' is the whole tenant
    unit   text NOT NULL,   -- tokens, or a currency
    amount numeric NOT NULL CHECK (amount >= 0),
    PRIMARY KEY (tenant, owner, unit)
);
-- Nothing of it is shown to tenants.
ALTER TABLE engine.budgets ENABLE ROW LEVEL SECURITY;
