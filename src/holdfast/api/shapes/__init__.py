"""What goes in and comes out, field by field."""
