"""Realistic adversaries: outside statistics of a given strength (Dirichlet priors)."""
