"""From an attempt to its outcome: in the worker's loop, in its threads, or in processes of their own."""
