"""What users declare on top of jobs. Systems never import each other; holdfast.catalog knows them by name."""
