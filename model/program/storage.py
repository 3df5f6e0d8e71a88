"""Programs as files: text (``.skn``, see :mod:`.text`) to read and compare, binary (``.npz``) for large ones.

Both forms are read without ``eval`` or pickle. A file that cannot be used is refused with an :exc:`InputError` of one
line that begins with the file's name. A file that is larger than the limits (``skinny.model.limits``) is refused before
it is read.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import struct
import zipfile
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from skinny.model.errors import InputError
from skinny.model.files import is_stream, read_text, write_file
from skinny.model.limits import TEXT_BYTE, current, size_text, watched
from skinny.model.named_weight import NamedWeight

from .forms import Form, Input, Linear, Weight
from .program import Columns, Output, Program
from .reader import NUMBER, shortened
from .streams import State
from .text import check_names, dumps, loads, number_text

__all__ = ["ending", "load", "save"]

FACTORS = (Input, Weight)
KINDS = (*FACTORS, Linear)
#: The version of the binary form.
BINARY = 2
#: Columns of the binary form: name to type. A linear form has its bias (or -1) as index, ``terms`` many terms and
#: ``sums`` many terms with a register, whose factor is a form of its own kind.
COLUMNS = {
    "dst": np.uint16,
    "src": np.uint16,
    "sign": np.int8,
    "form": np.int32,
    "mode": np.uint8,
    "form_kind": np.uint8,
    "form_index": np.int32,
    "form_terms": np.int32,
    "term_weight": np.int32,
    "term_input": np.int32,
    "form_sums": np.int32,
    "sum_kind": np.uint8,
    "sum_index": np.int32,
    "sum_register": np.int32,
    "derived": np.bool_,
}
TEXTS = ("header", "weights", "inputs")
#: Entries of the header that a program may go without.
HEADER: dict[str, Any] = {
    "self_check": False,
    "ring": "",
    "box": None,
    "input_scales": [],
    "output_units": [],
    "named": [],
    "argmax": "",
    "probabilities": "",
    "settable": False,
    "state": [],
    "window": 0,
    "hop": 0,
}
#: Bytes of memory for each entry of a column; an instruction stays as it is, other entries become objects.
CODE = ("dst", "src", "sign", "form", "mode")
ENTRY = dict.fromkeys(CODE, 16)
OBJECT = 128
#: Bytes that the table of contents of an archive may have; ours have a third of it.
CONTENTS = 1 << 12


def ending(path: str | Path) -> str:
    """The ending of ``path``, ``.skn`` or ``.npz``. Any other is refused, except for pipes and devices, which hold
    text."""
    found = Path(path).suffix
    if found in (".skn", ".npz"):
        return found
    if is_stream(path):
        return ".skn"
    raise InputError(f"{path}: the name of a program must end in .skn or .npz")


def save(program: Program, path: str | Path) -> None:
    """Write ``program`` to ``path``, in the form that its ending names. A failure leaves nothing behind."""
    if ending(path) == ".skn":
        content = dumps(program).encode()
        write_file(path, lambda file: file.write(content))
    else:
        arrays = _arrays(program)
        write_file(path, lambda file: np.savez_compressed(file, allow_pickle=False, **arrays))


def load(path: str | Path) -> Program:
    """The program that ``path`` holds."""
    with watched(f"{path}: reading"):
        if ending(path) == ".skn":
            return loads(read_text(path, TEXT_BYTE), str(path))
        try:
            with open(path, "rb") as file:
                return _load_binary(file, str(path))
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None


def _arrays(program: Program) -> dict[str, NDArray[Any]]:
    check_names(program)
    header = {
        "width": program.width,
        "contract": program.contract,
        "start": [str(value) for value in program.start],
        "outputs": [list(output[:4]) for output in program.outputs],
        "title": program.title,
        "self_check": program.self_check,
        "ring": program.ring,
        "input_scales": program.input_scales,
        "output_units": [
            [o.scale, number_text(o.approximation, "an approximation"), o.sampled] for o in program.outputs
        ],
        "named": [_named_fields(weight) for weight in program.named],
        "argmax": program.argmax,
        "probabilities": program.probabilities,
        "settable": program.settable,
        "state": program.state,
        "window": program.window,
        "hop": program.hop,
        "box": program.box and [[number_text(value, "a box") for value in side] for side in program.box],
    }
    texts = {
        "header": json.dumps(header),
        "weights": "\n".join(number_text(weight, f"weight w[{k}]") for k, weight in enumerate(program.weights)),
        "inputs": "\n".join(program.inputs),
    }
    terms = [form.terms if isinstance(form, Linear) else () for form in program.forms]
    flat = [term for some in terms for term in some]
    sums = [form.sums if isinstance(form, Linear) else () for form in program.forms]
    read = [term for some in sums for term in some]
    columns = {
        **dict(zip(CODE, program.code.arrays(), strict=True)),
        "form_kind": [KINDS.index(type(form)) for form in program.forms],
        "form_index": [_index(form) for form in program.forms],
        "form_terms": [len(some) for some in terms],
        "term_weight": [k for k, _ in flat],
        "term_input": [u for _, u in flat],
        "form_sums": [len(some) for some in sums],
        "sum_kind": [KINDS.index(type(factor)) for factor, _ in read],
        "sum_index": [_index(factor) for factor, _ in read],
        "sum_register": [register for _, register in read],
        "derived": program.derived,
    }
    return {
        "skinny": np.array(BINARY, dtype=np.int32),
        **{name: np.frombuffer(text.encode(), dtype=np.uint8) for name, text in texts.items()},
        **{name: np.asarray(column, dtype=COLUMNS[name]) for name, column in columns.items()},
    }


def _index(form: Form) -> int:
    match form:
        case Input(u):
            return u
        case Weight(k):
            return k
        case Linear(_, bias):
            return -1 if bias is None else bias


def _load_binary(file: IO[bytes], name: str) -> Program:
    try:
        arrays = _read_arrays(file, name)
    except (InputError, OSError):
        raise
    except Exception:  # zipfile, zlib, struct and numpy each have their own way to say that bytes are not an archive
        raise InputError(f"{name}: not a skinny program, or damaged") from None
    try:
        return _from_arrays(arrays)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _read_arrays(file: IO[bytes], name: str) -> dict[str, NDArray[Any]]:
    if file.read(4) != b"PK\x03\x04":
        raise InputError(f"{name}: not a skinny program (no npz archive)")
    _check_contents(file, name)
    with zipfile.ZipFile(file) as archive:
        version = _read_array(archive, "skinny", name, 1)
        if int(version) != BINARY:
            raise InputError(f"{name}: version {int(version)} is not known: this program reads version {BINARY}")
        left = current().memory
        out = {}
        for key in (*TEXTS, *COLUMNS):
            each = ENTRY.get(key, OBJECT)
            out[key] = _read_array(archive, key, name, left // each)
            left -= each * out[key].size
    return out


def _check_contents(file: IO[bytes], name: str) -> None:
    """Refuse an archive whose table of contents has more entries than a program: they would all be read."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - (1 << 16) - 22))
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0:
        raise InputError(f"{name}: not a skinny program, or damaged")
    (size,) = struct.unpack_from("<I", tail, at + 12)
    if size > CONTENTS or tail[max(0, at - 20) : at].startswith(b"PK\x06\x07"):
        raise InputError(f"{name}: not a skinny program (too many parts)")


def _read_array(archive: zipfile.ZipFile, key: str, name: str, most: int) -> NDArray[Any]:
    """One array of at most ``most`` entries. Its header is checked before it is believed."""
    with archive.open(f"{key}.npy") as part:
        packed = archive.getinfo(f"{key}.npy").compress_type
        if packed not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or npy.read_magic(part) != (1, 0):
            raise InputError(f"{name}: not a skinny program, or damaged")
        shape, _, dtype = npy.read_array_header_1_0(part)
        if key == "skinny" and (shape != () or dtype.kind != "i"):
            raise InputError(f"{name}: not a skinny program (no version)")
        wanted = np.dtype(COLUMNS.get(key, np.uint8))
        if key != "skinny" and (len(shape) != 1 or dtype != wanted):
            raise InputError(f"{name}: {key} must be one column of {wanted}, not {dtype} of shape {shape}")
        count = shape[0] if shape else 1
        if count > most:
            limit = size_text(current().memory)
            raise InputError(f"{name}: {count:,} entries of {key} need more memory than {limit}: --limit memory=SIZE")
        content = part.read(count * dtype.itemsize)
        if len(content) != count * dtype.itemsize or part.read(1):
            raise InputError(f"{name}: not a skinny program, or damaged")
    return np.frombuffer(content, dtype=dtype).reshape(shape).copy()


def _from_arrays(arrays: dict[str, NDArray[Any]]) -> Program:
    try:
        header, weights, inputs = (arrays[key].tobytes().decode() for key in TEXTS)
        fields = HEADER | json.loads(header)
        width, contract, start, title = (fields[key] for key in ("width", "contract", "start", "title"))
        self_check, ring, box, scales = (fields[key] for key in ("self_check", "ring", "box", "input_scales"))
        argmax, probabilities, settable = (fields[key] for key in ("argmax", "probabilities", "settable"))
        units = fields["output_units"] or [[0, "0", False]] * len(fields["outputs"])
        outputs = tuple(
            Output(*output)._replace(scale=scale, approximation=_number(near), sampled=sampled)
            for output, (scale, near, sampled) in zip(fields["outputs"], units, strict=True)
        )
        kinds = (str, int, int, bool, int, Fraction, bool)
        typed = all(type(value) is kind for output in outputs for value, kind in zip(output, kinds, strict=True))
        typed &= type(width) is int and type(contract) is str and type(title) is str and type(ring) is str
        typed &= type(argmax) is str and type(probabilities) is str and type(settable) is bool
        typed &= type(self_check) is bool and type(scales) is list and all(type(scale) is int for scale in scales)
        named = tuple(_named_weight(*entry) for entry in fields["named"])
        if box is not None:
            box = tuple((_number(low), _number(high)) for low, high in box)
        start = tuple(int(value) if value.denominator == 1 else value for value in map(_number, start))
        state = tuple(State(name, register) for name, register in fields["state"])
        typed &= all(type(name) is str and type(register) is int for name, register in state)
        window, hop = fields["window"], fields["hop"]
        typed &= type(window) is int and type(hop) is int
    except (ValueError, TypeError, KeyError, RecursionError):
        typed = False
    if not typed:
        raise InputError("the header means nothing")
    values = weights.split("\n") if weights else []
    for k, value in enumerate(values):
        if not _is_number(value):
            raise InputError(f"weight w[{k}] must be an integer or a fraction, not {shortened(value)}")
    program = Program(
        width=width,
        inputs=tuple(inputs.split("\n")) if inputs else (),
        weights=tuple(map(Fraction, values)),
        derived=tuple(arrays["derived"].tolist()),
        forms=tuple(_forms(arrays)),
        code=Columns.of(*(arrays[key] for key in CODE)),
        outputs=outputs,
        contract=contract,
        start=start,
        title=title,
        self_check=self_check,
        input_scales=tuple(scales),
        box=box,
        ring=ring,
        named=named,
        argmax=argmax,
        probabilities=probabilities,
        settable=settable,
        state=state,
        window=window,
        hop=hop,
    )
    check_names(program)
    return program


def _named_fields(weight: NamedWeight) -> list[Any]:
    numbers = [number_text(number, f"the weight {weight.name}") for number in weight[1:4]]
    words = [[k, number_text(factor, f"a factor of {weight.name}")] for k, factor in weight.words]
    return [weight.name, *numbers, words]


def _named_weight(name: Any, value: Any, low: Any, high: Any, words: Any) -> NamedWeight:
    """A named weight of a header; what is none raises :exc:`ValueError` or :exc:`TypeError`."""
    if type(name) is not str or not all(type(k) is int for k, _ in words):
        raise ValueError
    known = tuple((k, _number(factor)) for k, factor in words)
    return NamedWeight(name, _number(value), _number(low), _number(high), known)


def _is_number(text: str) -> bool:
    return NUMBER.fullmatch(text) is not None and not re.fullmatch(".*/0+", text)


def _number(text: str) -> Fraction:
    """The number of a header; what is none raises :exc:`ValueError`."""
    if not _is_number(text):
        raise ValueError
    return Fraction(text)


def _forms(arrays: dict[str, NDArray[Any]]) -> Iterable[Form]:
    names = ("form_kind", "form_index", "form_terms", "form_sums")
    kinds, indices, counts, reads = (arrays[key].tolist() for key in names)
    terms = _rows(arrays, "term_weight", "term_input")
    sums = _rows(arrays, "sum_kind", "sum_index", "sum_register")
    same = len(kinds) == len(indices) == len(counts) == len(reads)
    known = max(kinds, default=0) < len(KINDS) and max((kind for kind, _, _ in sums), default=0) < len(FACTORS)
    whole = min((*counts, *reads), default=0) >= 0 and (sum(counts), sum(reads)) == (len(terms), len(sums))
    if not (same and known and whole):
        raise InputError("the table of forms means nothing")
    left, rest = iter(terms), iter(sums)
    for kind, index, count, read in zip(kinds, indices, counts, reads, strict=True):
        if KINDS[kind] is Linear:
            own = tuple((k, u) for k, u in itertools.islice(left, count))
            registers = tuple((FACTORS[of](at), register) for of, at, register in itertools.islice(rest, read))
            yield Linear(own, None if index == -1 else index, registers)
        elif count or read:
            raise InputError("the table of forms means nothing")
        else:
            yield FACTORS[kind](index)


def _rows(arrays: dict[str, NDArray[Any]], *names: str) -> list[tuple[int, ...]]:
    """Columns as rows; columns of different lengths are refused."""
    if len({len(arrays[name]) for name in names}) != 1:
        raise InputError("the table of forms means nothing")
    return list(zip(*(arrays[name].tolist() for name in names), strict=True))
