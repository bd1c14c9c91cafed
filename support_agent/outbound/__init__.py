"""Letters, how they are sent, and what became of them."""
