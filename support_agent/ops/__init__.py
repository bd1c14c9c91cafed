"""What an admin looks with: check, doctor, dry run, replay, explain, measurements."""
