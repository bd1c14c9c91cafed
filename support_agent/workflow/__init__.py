"""The worker, the stages of a journey, and the decision."""
