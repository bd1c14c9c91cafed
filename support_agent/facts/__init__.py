"""The fact room: it retrieves the sentences that answer, and gives out pointers, grades and numbers."""
