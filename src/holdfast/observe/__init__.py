"""Logs, metrics and traces: a leaf that everything but the kernel may use."""
