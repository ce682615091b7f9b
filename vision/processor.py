"""Which vector instructions hand-written loops may use: those that numba compiles for.

numba compiles for the host unless ``NUMBA_CPU_NAME=generic`` or ``NUMBA_CPU_FEATURES`` says
otherwise, as clusters of unlike machines need. LLVM ends the process when code asks for an
instruction that the target lacks, so the host's own abilities don't count.
"""

import os
from functools import cache

import llvmlite.binding as llvm
import numba

OVERRIDE = "VISUALWORDS_VECTOR_BYTES"
WIDTHS = (0, 16, 32, 64)


@cache
def _features() -> dict[str, bool]:
    """Return the features that numba passes to LLVM; asking for the host's takes a millisecond."""
    given = numba.config.CPU_FEATURES
    if given is not None:  # "+avx2,-avx512f"; what the processor's name implies is not known here
        return {name[1:]: name[0] == "+" for name in given.split(",") if name}
    host = dict(llvm.get_host_cpu_features())
    if numba.config.ENABLE_AVX:
        return host
    return {name: has for name, has in host.items() if not name.startswith("avx")}


def vector_bytes() -> int:
    """Return the bytes in the widest vector of whole numbers of an x86 target: 64, 32 or 16.

    0 for other processors, and where nothing is compiled (``NUMBA_DISABLE_JIT``). The environment
    variable ``VISUALWORDS_VECTOR_BYTES`` limits it; 0 selects the loops for any processor.

    Examples
    --------
    >>> vector_bytes() in (0, 16, 32, 64)
    True
    """
    if numba.config.DISABLE_JIT or not llvm.get_process_triple().startswith("x86_64"):
        return 0
    most = 64 if _features().get("avx512bw") else 32 if _features().get("avx2") else 16
    return min(most, _limit())


def _limit() -> int:
    """Return the most bytes that the user allows."""
    given = os.environ.get(OVERRIDE, "").strip() or str(max(WIDTHS))
    if given not in map(str, WIDTHS):
        raise ValueError(f"{OVERRIDE}={given}; choose one of {', '.join(map(str, WIDTHS))}")
    return int(given)


def has_byte_products() -> bool:
    """Return whether the target adds products of bytes to 512-bit vectors (AVX-512 VNNI).

    Examples
    --------
    >>> has_byte_products() in (True, False)
    True
    """
    return vector_bytes() == 64 and bool(_features().get("avx512vnni"))
