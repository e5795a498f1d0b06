"""Who may come in, and how much of it: passed before anything of a request is read."""
