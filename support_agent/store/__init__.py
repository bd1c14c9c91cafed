"""What is kept: mails, cases, plans, answers, the outbox. `store.Store` is the door to it."""
