"""Releases: groups of people, what each group publishes, and how the groups are described."""
