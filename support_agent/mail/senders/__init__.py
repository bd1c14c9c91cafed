"""Who sent a mail, and how surely."""
