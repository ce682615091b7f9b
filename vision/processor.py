"""What the processor can do, for loops that are written in its own instructions."""

from functools import cache

import llvmlite.binding as llvm
import numba


@cache
def _features() -> dict[str, bool]:
    """What LLVM knows of this processor; asking takes most of a millisecond."""
    return dict(llvm.get_host_cpu_features())


def vector_bytes() -> int:
    """Return the bytes in the widest vector of whole numbers of an x86 processor: 64, 32 or 16.

    0 on other processors, and where nothing is compiled (``NUMBA_DISABLE_JIT``).

    Examples
    --------
    >>> vector_bytes() in (0, 16, 32, 64)
    True
    """
    if numba.config.DISABLE_JIT or not llvm.get_process_triple().startswith("x86_64"):
        return 0
    if _features().get("avx512bw"):
        return 64
    return 32 if _features().get("avx2") else 16


def counts_bits_in_vectors() -> bool:
    """Return whether the processor has an instruction that counts the bits of a vector's words.

    Examples
    --------
    >>> counts_bits_in_vectors() in (True, False)
    True
    """
    return vector_bytes() == 64 and bool(_features().get("avx512vpopcntdq"))


def gathers_bits() -> bool:
    """Return whether the processor has an instruction that moves chosen bits of a word together.

    Examples
    --------
    >>> gathers_bits() in (True, False)
    True
    """
    return vector_bytes() > 0 and bool(_features().get("bmi2"))


def has_byte_products() -> bool:
    """Return whether the processor adds products of bytes to 512-bit vectors (AVX-512 VNNI).

    Examples
    --------
    >>> has_byte_products() in (True, False)
    True
    """
    if vector_bytes() < 64:
        return False
    return bool(_features().get("avx512vnni"))
