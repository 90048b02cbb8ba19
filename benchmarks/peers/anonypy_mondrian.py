"""anonypy's Mondrian, k-anonymity; prints groups and the seconds, reading not counted."""

import sys
import time

import anonypy
import pandas as pd

path, k, sensitive, *quasi = sys.argv[1:]
frame = pd.read_parquet(path, columns=[*quasi, sensitive])
for name in [*quasi, sensitive]:
    if frame[name].dtype == object:
        frame[name] = frame[name].astype("category")
start = time.perf_counter()
rows = anonypy.Preserver(frame, quasi, sensitive).anonymize_k_anonymity(k=int(k))
taken = time.perf_counter() - start
groups = {str([row[name] for name in quasi]) for row in rows}
print(len(groups), taken)
