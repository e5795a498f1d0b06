"""Retention, schedules: what chores write."""
