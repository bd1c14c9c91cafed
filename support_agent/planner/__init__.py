"""Planning a mail: questions, candidates, votes, choice, composed calls."""
