"""Bytes that are too large for a row, by their digest. Names are rows of the store; what no row names is swept."""
