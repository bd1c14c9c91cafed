"""Which case a mail belongs to, and whether a letter may go there."""
