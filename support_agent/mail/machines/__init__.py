"""Whether a machine wrote a mail, and what a bounce says."""
