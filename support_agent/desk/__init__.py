"""What was retrieved for a case, as people see it, and what they did with the case."""
