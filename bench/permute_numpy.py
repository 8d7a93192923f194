#!/usr/bin/env python3
"""Times numpy's ascontiguousarray(transpose(x)): permute_numpy.py REPEATS ITEM_BYTES DIMS PERMUTATION"""

import sys
import time

try:
    import numpy as np
except ImportError:
    print("nan")
    sys.exit(0)

repeats, item_bytes = int(sys.argv[1]), int(sys.argv[2])
dims = [int(d) for d in sys.argv[3].split(",")]
permutation = [int(d) for d in sys.argv[4].split(",")]
array = np.ones(dims, dtype=f"u{item_bytes}")
best = float("inf")
for _ in range(repeats):
    begin = time.perf_counter()
    result = np.ascontiguousarray(np.transpose(array, permutation))
    best = min(best, time.perf_counter() - begin)
    del result
print(best)
