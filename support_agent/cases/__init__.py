"""Which case a mail belongs to, the decision on it, and the limits on automatic mail: rates, breaker, pause."""
