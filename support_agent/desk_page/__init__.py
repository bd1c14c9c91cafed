"""The desk's page: people see cases, decide them, and see where every word of an answer comes from."""
