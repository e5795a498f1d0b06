"""DAGs, decided: what a node waits for, which ways are taken, what its parents' ends mean."""
