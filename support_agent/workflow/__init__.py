"""The worker, the stages of a mail's journey, and what decides on a mail."""
