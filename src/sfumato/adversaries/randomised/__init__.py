"""Randomised releases: what differential privacy promises, and how promises add up."""
