"""The model's seat: questions, candidates, votes, choice, composed calls."""
