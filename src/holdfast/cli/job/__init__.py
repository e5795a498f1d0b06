"""Jobs at the command line."""
