"""`holdfast demo`: a newspaper's night. The workers are real processes, and one does not live to see the morning."""
