"""The worker, the stages of a mail's journey, and the decision."""
