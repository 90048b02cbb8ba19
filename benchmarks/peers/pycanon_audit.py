"""pycanon computing k, l, t and beta one by one; prints the seconds, reading not counted."""

import sys
import time
import warnings

import pandas as pd
from pycanon import anonymity

path, sensitive, *quasi = sys.argv[1:]
frame = pd.read_parquet(path, columns=[*quasi, sensitive])
warnings.simplefilter("ignore")
start = time.perf_counter()
k = anonymity.k_anonymity(frame, quasi)
diversity = anonymity.l_diversity(frame, quasi, [sensitive])
t = anonymity.t_closeness(frame, quasi, [sensitive])
beta = anonymity.basic_beta_likeness(frame, quasi, [sensitive])
print("k", k, "l", diversity, "t", t, "beta", beta)
print(time.perf_counter() - start)
