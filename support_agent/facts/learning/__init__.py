"""How the policy is learned: recorded cases, training, and its weights in a file."""
