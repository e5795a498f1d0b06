"""Flows: DAGs of tasks."""
