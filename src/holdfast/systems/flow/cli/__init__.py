"""`holdfast flow`: flows, node by node."""
