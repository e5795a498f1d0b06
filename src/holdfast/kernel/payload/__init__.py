"""JSON at the door: what passes can be stored, read and compared by every database."""
