"""Parts of whole blocks, such as files, which are best read by one reader each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stretto.data.draws import Integers
from stretto.data.partition import samples_of_parts
from stretto.errors import DataError


def block_split(blocks: Sequence[int] | Integers, parts: int) -> list[Integers]:
    """Return the samples of every part, of the sizes of neighbouring blocks; no block is cut.

    Blocks go, the largest first, to the part that is the smallest by then: no part is larger than 4/3 of what the best
    division could reach.

    >>> [part.tolist() for part in block_split([2, 3, 1], parts=2)]
    [[2, 3, 4], [0, 1, 5]]
    """
    sizes = np.asarray(blocks, dtype=np.int64)
    if not 1 <= parts <= len(sizes):
        raise DataError(f"{len(sizes)} blocks cannot be split into {parts} parts; give 1 to {len(sizes)}")
    loads, owners = [0] * parts, np.empty(len(sizes), dtype=np.int64)
    for block in np.argsort(-sizes, kind="stable"):
        part = loads.index(min(loads))
        owners[block] = part
        loads[part] += int(sizes[block])
    return samples_of_parts(np.repeat(owners, sizes), parts)
