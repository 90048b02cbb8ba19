"""Visits of five people, several rows each, and a policy that publishes them one by one."""

from __future__ import annotations

POLICY = """
[schema]
quasi = ["age", "ward"]
sensitive = "ill"
person = "id"
rows = "unlinked"

[[require]]
kind = "k-anonymity"
k = 2
"""
ROWS = """id,age,ward,ill
a,20,x,flu
a,20,x,gout
a,30,y,flu
b,20,x,flu
b,30,y,HIV
c,20,x,gout
c,20,x,HIV
d,30,y,flu
d,40,y,flu
e,40,y,gout
"""
