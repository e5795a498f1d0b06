"""The contenders of `python -m bench peers`: one file each, run by the Python of its own environment."""
