"""The fact room: it looks for the sentences that answer, and gives out pointers, grades and numbers."""
