"""Jobs over HTTP: made, changed, shown, followed."""
