"""/pipeline/jobs of the HTTP API."""
