"""Roles, domains and hierarchies: what the columns of a table mean."""
