"""What was decided: which algorithm computes each window and each join, by which estimates, and why."""
