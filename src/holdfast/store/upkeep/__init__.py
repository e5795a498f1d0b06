"""Retention, partitions, schedules: what chores write."""
