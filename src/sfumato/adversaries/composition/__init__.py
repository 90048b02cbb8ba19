"""Composition: somebody who holds several releases about the same people."""
