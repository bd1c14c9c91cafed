"""Learning the policy: recorded cases, training, and its weights in a file."""
