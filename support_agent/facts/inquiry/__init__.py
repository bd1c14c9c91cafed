"""Working memory, policy and utility: how evidence for a question is retrieved until it is answered or escalated."""
