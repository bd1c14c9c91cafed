"""Working memory, policy and utility: how a question is looked into until it is answered or handed over."""
