"""What a running worker tells of itself: metrics, health, traces, and what is wrong now."""
