"""What is done to flows as a whole."""
