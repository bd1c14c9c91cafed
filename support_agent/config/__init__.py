"""The settings, how they are loaded from file, environment and flags, and the packaged files."""
