"""A job's writes, from its submit to its end."""
