"""An engine over HTTP: the same calls for a service that has no database access. See `engine.RemoteEngine`."""
