"""What a mail says: its parts, its text, what is quoted in it, its signature, its attachments."""
