"""From a FinalAnswer to the bytes of a mail, each with its source. Never imports the planner or the fact room."""
