"""What a running worker reports of itself: metrics, health, traces, and what is wrong now."""
