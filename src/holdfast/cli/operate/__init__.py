"""Running, watching and turning an installation."""
