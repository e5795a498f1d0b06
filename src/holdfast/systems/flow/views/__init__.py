"""Flows and their nodes as the outside sees them."""
