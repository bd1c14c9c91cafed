"""Documents made of files of other kinds, for a person to review."""
