"""The one place where rows become counts."""
