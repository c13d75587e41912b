"""Names for the arrays that the library's modules pass to each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
"""Numbers of passages."""
Matrix = NDArray[np.float32]
"""A vector, or vectors as rows."""
Scores = NDArray[np.float64]
Codes = NDArray[np.uint8]
"""Codes of token vectors, or bits."""
Ranked = tuple[Ids, Scores]
"""Numbers of passages and a score for each."""
Stored = tuple[Ids, Matrix]
"""Numbers of passages and a vector for each."""
