-- The demo company's database; `seed.py` fills it.
CREATE TABLE customers (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    address TEXT NOT NULL UNIQUE,
    locale TEXT NOT NULL,
    currency TEXT NOT NULL,
    member_since TEXT NOT NULL,
    two_factor INTEGER NOT NULL CHECK (two_factor IN (0, 1))
);
CREATE TABLE subscriptions (
    customer_id TEXT PRIMARY KEY REFERENCES customers (id),
    plan TEXT NOT NULL,
    billing_cycle TEXT,
    seats_paid INTEGER NOT NULL,
    seats_used INTEGER NOT NULL,
    discount_percent INTEGER NOT NULL,
    renewal_on TEXT,
    next_amount_cents INTEGER,
    currency TEXT NOT NULL,
    payment_method TEXT
);
CREATE TABLE invoices (
    number TEXT PRIMARY KEY,
    customer_id TEXT NOT NULL REFERENCES customers (id),
    issued_on TEXT NOT NULL,
    amount_cents INTEGER NOT NULL,
    currency TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('paid', 'open'))
);
CREATE TABLE payments (
    id INTEGER PRIMARY KEY,
    customer_id TEXT NOT NULL REFERENCES customers (id),
    invoice_number TEXT NOT NULL REFERENCES invoices (number),
    paid_on TEXT NOT NULL,
    amount_cents INTEGER NOT NULL,
    currency TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('succeeded', 'failed'))
);
CREATE TABLE storage_readings (
    customer_id TEXT NOT NULL REFERENCES customers (id),
    month TEXT NOT NULL,
    used_mb INTEGER NOT NULL,
    PRIMARY KEY (customer_id, month)
);
CREATE TABLE api_usage (
    customer_id TEXT NOT NULL REFERENCES customers (id),
    month TEXT NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (customer_id, month)
);
