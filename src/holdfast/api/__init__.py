"""The HTTP API: the engine's own calls, behind doors. See `app.create_app`."""
