"""Who may be in which group: where the people an adversary knows can stand in a release.

Shared by linkage, composition and relative threat.
"""
