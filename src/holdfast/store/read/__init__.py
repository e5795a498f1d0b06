"""Reads: lists, single jobs, the log."""
