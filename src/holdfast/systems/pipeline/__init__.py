"""Pipelines: stages in order, as one job."""
