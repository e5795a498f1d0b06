"""Measurements: Holdfast against the limit of its own tables, in one run. See `python -m bench --help`."""
