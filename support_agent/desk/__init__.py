"""What people get of a case, and what they did with it."""
