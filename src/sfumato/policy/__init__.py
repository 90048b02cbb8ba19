"""Policies: what a release must satisfy, as Python objects and as a TOML file."""
