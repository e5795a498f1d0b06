"""Flows in the tables: a node's end, and what it means for those that wait."""
