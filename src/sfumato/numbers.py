"""The arrays everything is computed on, by what they hold."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]  # counts, positions, offsets
Floats = npt.NDArray[np.float64]  # probabilities, weights, losses
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]  # positions in a column's domain
Words = npt.NDArray[np.uint64]  # sets of up to 64 values a word
