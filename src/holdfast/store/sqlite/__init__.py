"""SQLite: the driver, and the hot statements that only it has."""
