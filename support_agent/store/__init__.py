"""The database: mails, cases, plans, answers, the outbox; other rooms use `store.Store`."""
