"""Jobs that are made of parts: declared by users, run by any worker."""
