"""A pipeline as its author writes it."""
