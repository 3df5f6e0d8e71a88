"""Programs as files: text (``.skn``, see :mod:`.text`) to read and compare, binary (``.npz``) for large ones.

Both forms are read without ``eval`` or pickle. Whatever is wrong is an :exc:`InputError` of one line that begins with
the file's name. Files are written under a temporary name, then renamed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .program import Columns, Form, Input, Linear, Output, Program, Weight
from .text import INTEGER, NUMBER, VERSION, check_names, dumps, loads, shortened, weight_texts

__all__ = ["ending", "load", "save", "write_file", "write_folder"]

#: Columns of the binary form: name to type. A linear form has its bias (or -1) as index and ``terms`` many terms.
KINDS = (Input, Weight, Linear)
COLUMNS = {
    "dst": np.uint8,
    "src": np.uint8,
    "sign": np.int8,
    "form": np.int32,
    "form_kind": np.uint8,
    "form_index": np.int32,
    "form_terms": np.int32,
    "term_weight": np.int32,
    "term_input": np.int32,
    "derived": np.bool_,
}
TEXTS = ("header", "weights", "inputs")


def ending(path: str | Path) -> str:
    """``.skn`` or ``.npz``; any other ending is refused."""
    found = Path(path).suffix
    if found not in (".skn", ".npz"):
        raise InputError(f"{path}: the name of a program must end in .skn or .npz")
    return found


def save(program: Program, path: str | Path) -> None:
    """Write ``program`` in the form that the ending of ``path`` names. On failure nothing is left behind."""
    if ending(path) == ".skn":
        content = dumps(program).encode()
        write_file(path, lambda file: file.write(content))
    else:
        arrays = _arrays(program)
        write_file(path, lambda file: np.savez_compressed(file, allow_pickle=False, **arrays))


def load(path: str | Path) -> Program:
    """The program that ``path`` holds."""
    form = ending(path)
    try:
        if form == ".npz":
            with open(path, "rb") as file:
                return _load_binary(file, str(path))
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(f"{path}:{line}: not UTF-8 text") from None
    return loads(text, str(path))


def write_file(path: str | Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let ``write`` fill a file of a temporary name in the folder of ``path``, then give it its name."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        try:
            with open(temporary, "xb") as file:
                write(file)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from None


def write_folder(folder: str | Path, files: Mapping[str, bytes]) -> None:
    """Write ``files`` (name to content) into ``folder``, which is made; the last of them says that all are there."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror or error})") from None
    for name, content in files.items():
        write_file(Path(folder) / name, partial(_put, content))


def _put(content: bytes, file: IO[bytes]) -> None:
    file.write(content)


def _arrays(program: Program) -> dict[str, NDArray[Any]]:
    check_names(program)
    header = {
        "width": program.width,
        "contract": program.contract,
        "start": [str(value) for value in program.start],
        "outputs": [list(output) for output in program.outputs],
        "title": program.title,
        "self_check": program.self_check,
    }
    texts = {
        "header": json.dumps(header),
        "weights": "\n".join(weight_texts(program)),
        "inputs": "\n".join(program.inputs),
    }
    terms = [form.terms if isinstance(form, Linear) else () for form in program.forms]
    flat = [term for some in terms for term in some]
    columns = {
        **dict(zip(("dst", "src", "sign", "form"), program.code.arrays(), strict=True)),
        "form_kind": [KINDS.index(type(form)) for form in program.forms],
        "form_index": [_index(form) for form in program.forms],
        "form_terms": [len(some) for some in terms],
        "term_weight": [k for k, _ in flat],
        "term_input": [u for _, u in flat],
        "derived": program.derived,
    }
    return {
        "skinny": np.array(VERSION, dtype=np.int32),
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
    file.seek(0)
    with np.load(file, allow_pickle=False) as archive:
        version = archive["skinny"]
        if version.shape != () or version.dtype.kind != "i":
            raise InputError(f"{name}: not a skinny program (no version)")
        if int(version) != VERSION:
            raise InputError(f"{name}: version {int(version)} is not known: this program reads version {VERSION}")
        out = {key: archive[key] for key in (*TEXTS, *COLUMNS)}
    for key, array in out.items():
        wanted = np.dtype(COLUMNS.get(key, np.uint8))
        if array.ndim != 1 or array.dtype != wanted:
            raise InputError(f"{name}: {key} must be one column of {wanted}, not {array.dtype} of shape {array.shape}")
    return out


def _from_arrays(arrays: dict[str, NDArray[Any]]) -> Program:
    try:
        header, weights, inputs = (arrays[key].tobytes().decode() for key in TEXTS)
        fields = json.loads(header)
        width, contract, start, title = (fields[key] for key in ("width", "contract", "start", "title"))
        self_check = fields.get("self_check", False)
        outputs = tuple(Output(*output) for output in fields["outputs"])
        typed = all(
            type(value) is kind for output in outputs for value, kind in zip(output, (str, int, int, bool), strict=True)
        )
        typed &= type(width) is int and type(contract) is str and type(title) is str
        typed &= type(self_check) is bool
        typed &= all(INTEGER.fullmatch(value) for value in start)
        start = tuple(map(int, start))
    except (ValueError, TypeError, KeyError, RecursionError):
        typed = False
    if not typed:
        raise InputError("the header means nothing")
    values = weights.split("\n") if weights else []
    for k, value in enumerate(values):
        if not NUMBER.fullmatch(value) or re.fullmatch(".*/0+", value):
            raise InputError(f"weight w[{k}] must be an integer or a fraction, not {shortened(value)}")
    program = Program(
        width=width,
        inputs=tuple(inputs.split("\n")) if inputs else (),
        weights=tuple(map(Fraction, values)),
        derived=tuple(arrays["derived"].tolist()),
        forms=tuple(_forms(arrays)),
        code=Columns.of(*(arrays[key] for key in ("dst", "src", "sign", "form"))),
        outputs=outputs,
        contract=contract,
        start=start,
        title=title,
        self_check=self_check,
    )
    check_names(program)
    return program


def _forms(arrays: dict[str, NDArray[Any]]) -> Iterable[Form]:
    kinds, indices, counts = (arrays[key].tolist() for key in ("form_kind", "form_index", "form_terms"))
    terms = list(zip(arrays["term_weight"].tolist(), arrays["term_input"].tolist(), strict=False))
    same = len(kinds) == len(indices) == len(counts) and len(arrays["term_weight"]) == len(arrays["term_input"])
    if not same or min(counts, default=0) < 0 or sum(counts) != len(terms) or max(kinds, default=0) >= len(KINDS):
        raise InputError("the table of forms means nothing")
    position = 0
    for kind, index, count in zip(kinds, indices, counts, strict=True):
        if KINDS[kind] is Linear:
            yield Linear(tuple(terms[position : position + count]), None if index == -1 else index)
            position += count
        else:
            yield Input(index) if KINDS[kind] is Input else Weight(index)
