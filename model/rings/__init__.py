"""Rings: the numbers that programs compute with, and their arithmetic.

One object with parameters stands for a ring. It says which Python numbers are elements and how wide a hardware word is,
and it does the arithmetic on whole batches. The hardware of ``hdl`` is created from the same object, so that software
and hardware cannot disagree.

===================== ============================ ======================================== =========================
ring                  elements                     sums and products                        file
===================== ============================ ======================================== =========================
``Modular(bits)``     Z/2^bits, two's complement   wrap; results are exact modulo 2^bits    ``modular``
``FixedPoint(bits,    raw integers of ``bits``     sums wrap; products are rounded half     ``fixed_point``
frac)``               bits, value raw / 2^frac     up, ``(a·b + 2^(frac-1)) >> frac``, then
                                                   wrap
``PrimeField(p)``     Z/p, 0 … p-1                 exact modulo p                           ``prime_field``
``Boolean()``         GF(2), 0 and 1               XOR and AND                              ``boolean``
``Exact()``           rational numbers             exact; no hardware                       ``model_only``
``Real()``            64-bit floats                rounded by the floats; no hardware       ``model_only``
===================== ============================ ======================================== =========================

``FixedPoint`` and ``Real`` are no rings in the sense of mathematics, because they round: the order of a computation
changes its result. ``ring`` has the interface that all of them share, and ``parse`` reads names like ``fixed:16.8``.
"""

from .boolean import Boolean
from .fixed_point import FixedPoint
from .model_only import Exact, Real
from .modular import Modular
from .parse import parse_ring
from .prime_field import PrimeField
from .ring import Array, Number, Ring, exact_number

__all__ = [
    "Array",
    "Boolean",
    "Exact",
    "FixedPoint",
    "Modular",
    "Number",
    "PrimeField",
    "Real",
    "Ring",
    "exact_number",
    "parse_ring",
]
