"""The proof: every invariant over every job and every seal, of a database that may be at work meanwhile."""
