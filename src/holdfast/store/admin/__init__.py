"""What operators look at and turn: queues, workers, schedules, keys, dead letters."""
