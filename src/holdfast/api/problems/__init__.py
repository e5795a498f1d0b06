"""What a refused request is answered."""
