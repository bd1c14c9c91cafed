"""The commands and what they print; no logic."""
