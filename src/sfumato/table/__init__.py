"""A data file or frame with its schema."""
