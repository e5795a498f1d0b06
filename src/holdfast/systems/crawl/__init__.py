"""Crawls and ingestions."""
