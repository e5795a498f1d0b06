"""Measurements: Holdfast against the limit of its own tables, in one run, as ratios. `python -m bench --help`."""
