"""What operators look at and turn."""
