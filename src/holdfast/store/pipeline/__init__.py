"""What the jobs of pipelines keep beside their rows: one step per stage, and one that lists them."""
