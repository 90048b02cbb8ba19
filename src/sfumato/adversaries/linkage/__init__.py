"""Whose row is this? Linkage by quasi-identifiers, against a release or a population."""
