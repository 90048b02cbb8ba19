"""Leakage: somebody who observes how a class differs from what was expected."""
