"""Randomised releases: noisy counts with a differential-privacy guarantee."""
