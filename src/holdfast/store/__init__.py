"""Where jobs and events are kept: one port, two stores that behave alike."""
