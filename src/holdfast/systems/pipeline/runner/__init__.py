"""What a worker does with a pipeline's job."""
