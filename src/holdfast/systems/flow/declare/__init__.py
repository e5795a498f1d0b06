"""A flow as it is written down, in Python or as data."""
