"""/flows of the HTTP API."""
