"""From the claim to the finish: what one worker process does with its jobs."""
