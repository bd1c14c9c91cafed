"""How the policy is learned: simulated users, training, and its weights in a file."""
