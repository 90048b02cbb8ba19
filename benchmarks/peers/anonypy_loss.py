"""anonypy's Mondrian under k and, if told, t: prints its loss, groups and seconds.

    python anonypy_loss.py ROWS.parquet K k|t=0.2 SENSITIVE QUASI...

Loss as everywhere here: the mean share of a column's domain that a published value is widened to.
"""

import sys
import time

import anonypy
import pandas as pd

path, k, criterion, sensitive, *quasi = sys.argv[1:]
frame = pd.read_parquet(path, columns=[*quasi, sensitive])
for name in [*quasi, sensitive]:
    if not pd.api.types.is_numeric_dtype(frame[name]):
        frame[name] = frame[name].astype("category")
start = time.perf_counter()
preserver = anonypy.Preserver(frame, quasi, sensitive)
if criterion == "k":
    rows = preserver.anonymize_k_anonymity(k=int(k))
else:
    rows = preserver.anonymize_t_closeness(k=int(k), p=float(criterion.removeprefix("t=")))
taken = time.perf_counter() - start

domains = {name: frame[name].nunique() for name in quasi}
spans = {
    name: frame[name].max() - frame[name].min()
    for name in quasi
    if pd.api.types.is_numeric_dtype(frame[name])
}


def widened(name: str, published: object) -> float:
    """The share of the domain that one published cell covers besides the value itself."""
    if isinstance(published, list):  # of values, or by some versions of one text of all of them
        published = ",".join(map(str, published))
    values = str(published).split(",")
    if name in spans:
        ends = [float(end) for end in str(values[0]).split("-")]
        return (ends[-1] - ends[0]) / spans[name]
    return (len(values) - 1) / (domains[name] - 1)


people = sum(row["count"] for row in rows)
lost = sum(row["count"] * widened(name, row[name]) for row in rows for name in quasi)
groups = {str([row[name] for name in quasi]) for row in rows}
print(lost / people / len(quasi), len(groups), taken)
