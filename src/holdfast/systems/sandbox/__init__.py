"""Commands in a sandbox."""
