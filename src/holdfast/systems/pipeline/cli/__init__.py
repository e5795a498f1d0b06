"""`holdfast pipeline`: runs, stage by stage."""
