"""Programs as files: text (``.skn``) to read and compare, binary (``.npz``) for large ones.

The text form, a statement a line::

    skinny 1
    # y = (a + 2*b)^3
    width 3
    contract clean
    self-check
    start 0 1 0
    inputs a b
    weight w[0] = 2
    weight w[1] = -3/4 derived
    form f[0] = w[0]*a + w[1]*b + w[0]
    R2 += a*R1
    R0 -= w[0]*R2
    R1 += f[0]*R0
    emit y = R0
    emit y1 = R2 restart
    end

The version line comes first and ``end`` last, so that a file that was cut off is noticed. Comment lines right after
the version line are the title; elsewhere ``#`` starts a comment and blank lines mean nothing. ``contract``,
``self-check`` and ``start`` may be left out (``clean``, none, one in ``R1``). Everything is declared before the first
instruction.

The scalars of a program are a table. Written text lists linear forms only; the table that is read back holds every
scalar once, in order of first use. A program whose table differs (an inverse, a segment) gets a line ``table a f[0]
w[0] …`` that restores its own order, so what is written is read back equal, with one exception: a table that lists
one input or one weight twice is read back with the two entries merged.

Both forms are read without ``eval`` or pickle. Whatever is wrong is an :exc:`InputError` of one line that begins with
the file's name, and for text its line number. Files are written under a temporary name, then renamed.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .program import CONTRACTS, Columns, Form, Input, Linear, Output, Program, Weight

__all__ = [
    "dumps",
    "ending",
    "instruction_texts",
    "load",
    "loads",
    "save",
    "scalar_texts",
    "write_file",
    "write_folder",
]

VERSION = 1
NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
NUMBER = re.compile(r"[+-]?[0-9]{1,4000}(/[0-9]{1,4000})?")
INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
DECLARATION = re.compile(r"([wf])\[([0-9]{1,9})\]\s*=\s*(.*)")
INSTRUCTION = re.compile(r"R([0-9]{1,9})\s*([+-])=\s*(\S+?)\s*\*\s*R([0-9]{1,9})")
EMIT = re.compile(r"(\S+)\s*=\s*R([0-9]{1,9})(\s+restart)?")
LINEAR_TERM = re.compile(r"w\[([0-9]{1,9})\](?:\s*\*\s*(\S+))?")


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


# Text


def dumps(program: Program) -> str:
    """The text form of ``program``."""
    _check_names(program)
    lines = [f"skinny {VERSION}"]
    if program.title:
        lines += [f"# {line}".rstrip() for line in program.title.split("\n")]
    lines.append(f"width {program.width}")
    lines.append(f"contract {program.contract}")
    lines += ["self-check"] * program.self_check
    lines.append(f"start {' '.join(map(str, program.start))}")
    if program.inputs:
        lines.append(f"inputs {' '.join(program.inputs)}")
    for k, (text, mark) in enumerate(zip(_weight_texts(program), program.derived, strict=True)):
        lines.append(f"weight w[{k}] = {text}{' derived' if mark else ''}")
    scalars = scalar_texts(program)
    for form, scalar in zip(program.forms, scalars, strict=True):
        if isinstance(form, Linear):
            parts = [f"w[{k}]*{program.inputs[u]}" for k, u in form.terms]
            parts += [] if form.bias is None else [f"w[{form.bias}]"]
            lines.append(f"form {scalar} = {' + '.join(parts) or '0'}")
    if not _in_order_of_use(program):
        lines.append(f"table {' '.join(dict.fromkeys(scalars))}")
    done = 0
    for output in (*program.outputs, None):
        end = len(program) if output is None else output.at
        lines += instruction_texts(program, scalars, done, end)
        if output is not None:
            lines.append(f"emit {output.name} = R{output.register}{' restart' if output.restart else ''}")
        done = end
    lines.append("end\n")
    return "\n".join(lines)


def loads(text: str, name: str = "<text>") -> Program:
    """The program that ``text`` describes; errors begin with ``name`` and the line number."""
    return _Reader(text, name).program()


def scalar_texts(program: Program) -> list[str]:
    """Every form of the table as instructions name it: an input, ``w[k]``, or ``f[n]`` for the n-th linear form."""
    out = []
    linear = itertools.count()
    for form in program.forms:
        match form:
            case Input(u):
                out.append(program.inputs[u])
            case Weight(k):
                out.append(f"w[{k}]")
            case Linear():
                out.append(f"f[{next(linear)}]")
    return out


def instruction_texts(program: Program, scalars: list[str], first: int, end: int) -> list[str]:
    """The instructions from ``first`` up to ``end``, a line each; ``scalars`` are :func:`scalar_texts`."""
    heads = {(r, sign): f"R{r} {'+' if sign > 0 else '-'}= " for r in range(program.width) for sign in (1, -1)}
    tails = [f"*R{r}" for r in range(program.width)]
    columns = (column[first:end].tolist() for column in program.code.arrays())
    return [heads[j, sign] + scalars[form] + tails[i] for j, i, sign, form in zip(*columns, strict=True)]


def _check_names(program: Program) -> None:
    for given in (*program.inputs, *(output.name for output in program.outputs)):
        if not NAME.fullmatch(given):
            raise InputError(f"{given!r} is not a name (letters, digits and _, not beginning with a digit)")


def _weight_texts(program: Program) -> Iterable[str]:
    for k, weight in enumerate(program.weights):
        try:
            text = str(weight)
        except ValueError:  # the interpreter's guard against quadratic conversions
            text = ""
        if not NUMBER.fullmatch(text):
            raise InputError(f"weight w[{k}] has too many digits to be written")
        yield text


def _in_order_of_use(program: Program) -> bool:
    """Whether the table of forms is the one that :func:`loads` builds by itself."""
    used, first = np.unique(program.code.form, return_index=True)
    every = len(used) == len(program.forms) and bool((np.diff(first) > 0).all())
    return every and len({form for form in program.forms if not isinstance(form, Linear)}) == sum(
        not isinstance(form, Linear) for form in program.forms
    )


class _Reader:
    """Reads one text. Instructions written the way :func:`dumps` writes them take a short cut; every other line,
    right or wrong, goes through :meth:`statement`, which knows what to say."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.lines = text.split("\n")
        self.line = 0
        self.width = 0
        self.contract = ""
        self.self_check = False
        self.start: tuple[int, ...] = ()
        self.inputs: dict[str, int] | None = None
        self.weights: list[Fraction] = []
        self.derived: list[bool] = []
        self.linear: list[Linear] = []
        self.declared = False
        self.table: list[Form] = []
        self.scalars: dict[str, int] = {}
        self.registers: dict[str, int] = {}
        self.dst: list[int] = []
        self.src: list[int] = []
        self.sign: list[int] = []
        self.form: list[int] = []
        self.outputs: list[Output] = []
        self.emitted: set[str] = set()

    def fail(self, message: str) -> NoReturn:
        raise InputError(f"{self.name}:{self.line}: {message}")

    def program(self) -> Program:
        title = self.opening()
        signs = {"+=": 1, "-=": -1}
        registers, scalars = self.registers, self.scalars
        dst, src, sign, form = self.dst, self.src, self.sign, self.form
        ended = False
        for number, line in enumerate(self.lines[self.line :], self.line + 1):
            try:
                target, change, term = line.split(" ")
                scalar, _, source = term.rpartition("*")
                j, i, s, f = registers[target], registers[source], signs[change], scalars[scalar]
                if i == j or ended:
                    raise ValueError
            except (KeyError, ValueError):
                self.line = number
                plain = line.partition("#")[0].strip()
                if plain and ended:
                    self.fail("nothing may follow 'end'")
                if plain == "end":
                    ended = True
                elif plain:
                    self.statement(plain)
                continue
            dst.append(j)
            src.append(i)
            sign.append(s)
            form.append(f)
        self.line = len(self.lines) - (self.lines[-1] == "")
        if not ended:
            self.fail("the program is cut off: its last line must be 'end'")
        try:
            return Program(
                width=self.width,
                inputs=tuple(self.inputs or ()),
                weights=tuple(self.weights),
                derived=tuple(self.derived),
                forms=tuple(self.table),
                code=Columns.of(dst, src, sign, form),
                outputs=tuple(self.outputs),
                contract=self.contract or "clean",
                start=self.start,
                title=title,
                self_check=self.self_check,
            )
        except InputError as error:
            raise InputError(f"{self.name}: {error}") from None

    def opening(self) -> str:
        """The version line, then the title."""
        self.line = 1
        words = self.lines[0].split()
        if len(words) != 2 or words[0] != "skinny":
            self.fail(f"the first line must be 'skinny {VERSION}'")
        if words[1] != str(VERSION):
            self.fail(f"version {words[1][:20]} is not known: this program reads version {VERSION}")
        title = []
        while self.line < len(self.lines) and self.lines[self.line].startswith("#"):
            title.append(self.lines[self.line].removeprefix("#").removeprefix(" ").rstrip())
            self.line += 1
        return "\n".join(title)

    def statement(self, text: str) -> None:
        word, _, rest = text.partition(" ")
        if INSTRUCTION.match(text):
            self.instruction(text)
            return
        if word == "emit":
            self.emit(rest.strip())
            return
        read = {
            "width": self.read_width,
            "contract": self.read_contract,
            "self-check": self.read_self_check,
            "start": self.read_start,
            "inputs": self.read_inputs,
            "weight": self.read_weight,
            "form": self.read_form,
            "table": self.read_table,
        }.get(word)
        if read is None:
            self.fail(f"expected an instruction like 'R0 += x*R1' or a declaration, found {_short(text)}")
        if self.dst or self.outputs:
            self.fail(f"'{word}' must come before the first instruction")
        if self.declared:
            self.fail(f"'{word}' must come before 'table'")
        read(rest.strip())

    def once(self, known: object, word: str) -> None:
        if known:
            self.fail(f"'{word}' is given twice")

    def read_width(self, rest: str) -> None:
        self.once(self.width, "width")
        width = int(rest) if re.fullmatch("[0-9]{1,9}", rest) else 0
        if not 2 <= width <= 255:
            self.fail(f"the width must be 2 to 255, not {_short(rest)}")
        self.width = width
        self.registers.update((f"R{r}", r) for r in range(width))

    def read_contract(self, rest: str) -> None:
        self.once(self.contract, "contract")
        if rest not in CONTRACTS:
            self.fail(f"the contract must be in-place or clean, not {_short(rest)}")
        self.contract = rest

    def read_self_check(self, rest: str) -> None:
        self.once(self.self_check, "self-check")
        if rest:
            self.fail(f"nothing may follow 'self-check', found {_short(rest)}")
        self.self_check = True

    def read_start(self, rest: str) -> None:
        self.once(self.start, "start")
        words = rest.split()
        for word in words:
            if not INTEGER.fullmatch(word):
                self.fail(f"a start value must be an integer, not {_short(word)}")
        if len(words) != self.need_width():
            self.fail(f"the start vector must have {self.width} entries, not {len(words)}")
        self.start = tuple(map(int, words))

    def read_inputs(self, rest: str) -> None:
        self.once(self.inputs is not None, "inputs")
        self.inputs = {}
        for word in rest.split():
            if not NAME.fullmatch(word):
                self.fail(f"an input must be a name, not {_short(word)}")
            if word in self.inputs:
                self.fail(f"the input {_short(word)} is given twice")
            self.inputs[word] = len(self.inputs)

    def declaration(self, rest: str, letter: str, count: int) -> str:
        """What stands behind ``letter[count] =``."""
        match = DECLARATION.fullmatch(rest)
        if not match or match[1] != letter or int(match[2]) != count:
            self.fail(f"expected '{letter}[{count}] = …', found {_short(rest)}")
        return match[3]

    def read_weight(self, rest: str) -> None:
        value, _, mark = self.declaration(rest, "w", len(self.weights)).partition(" ")
        if mark.strip() not in ("", "derived"):
            self.fail(f"only 'derived' may follow the value of a weight, not {_short(mark.strip())}")
        if not NUMBER.fullmatch(value):
            self.fail(f"a weight must be an integer or a fraction, not {_short(value)}")
        above, _, below = value.partition("/")
        if below and not int(below):
            self.fail("a weight cannot have the denominator zero")
        self.weights.append(Fraction(int(above), int(below or 1)))
        self.derived.append(bool(mark))

    def read_form(self, rest: str) -> None:
        value = self.declaration(rest, "f", len(self.linear))
        terms: list[tuple[int, int]] = []
        bias: int | None = None
        for term in [] if value == "0" else value.split("+"):
            match = LINEAR_TERM.fullmatch(term.strip())
            if not match:
                self.fail(f"a term of a form must be like 'w[0]*x' or 'w[0]', not {_short(term.strip())}")
            k = self.weight_index(match[1])
            if match[2] is not None:
                terms.append((k, self.input_index(match[2])))
            elif bias is None:
                bias = k
            else:
                self.fail("a form has at most one bias")
        self.linear.append(Linear(tuple(terms), bias))

    def read_table(self, rest: str) -> None:
        for word in rest.split():
            if word in self.scalars:
                self.fail(f"the table lists {_short(word)} twice")
            self.scalar(word)
        self.declared = True

    def instruction(self, text: str) -> None:
        match = INSTRUCTION.fullmatch(text)
        if not match:
            self.fail(f"expected an instruction like 'R0 += x*R1', found {_short(text)}")
        dst, src = self.register(match[1]), self.register(match[4])
        if dst == src:
            self.fail(f"dst = src: an instruction cannot read and write R{dst}")
        self.form.append(self.scalar(match[3]))
        self.dst.append(dst)
        self.src.append(src)
        self.sign.append(1 if match[2] == "+" else -1)

    def emit(self, rest: str) -> None:
        match = EMIT.fullmatch(rest)
        if not match or not NAME.fullmatch(match[1]):
            self.fail(f"expected 'emit NAME = R0' or 'emit NAME = R0 restart', found {_short('emit ' + rest)}")
        if match[1] in self.emitted:
            self.fail(f"the output {_short(match[1])} is given twice")
        self.emitted.add(match[1])
        self.outputs.append(Output(match[1], self.register(match[2]), len(self.dst), match[3] is not None))

    def need_width(self) -> int:
        if not self.width:
            self.fail("'width' must come first")
        return self.width

    def register(self, digits: str) -> int:
        if int(digits) >= self.need_width():
            self.fail(f"register R{digits} is out of range (width {self.width})")
        return int(digits)

    def weight_index(self, digits: str) -> int:
        if int(digits) >= len(self.weights):
            self.fail(f"weight index w[{digits}] is past the end ({len(self.weights)})")
        return int(digits)

    def input_index(self, name: str) -> int:
        found = (self.inputs or {}).get(name)
        if found is None:
            self.fail(f"unknown input {_short(name)}")
        return found

    def scalar(self, text: str) -> int:
        """The number of a scalar in the table, where it is added when it is new."""
        index = re.fullmatch(r"([wf])\[([0-9]{1,9})\]", text)
        form: Form
        if index and index[1] == "w":
            form = Weight(self.weight_index(index[2]))
            text = f"w[{form.k}]"
        elif index:
            if int(index[2]) >= len(self.linear):
                self.fail(f"form index f[{index[2]}] is past the end ({len(self.linear)})")
            form = self.linear[int(index[2])]
            text = f"f[{int(index[2])}]"
        else:
            form = Input(self.input_index(text))
        number = self.scalars.setdefault(text, len(self.table))
        if number == len(self.table):
            if self.declared:
                self.fail(f"the table does not list {_short(text)}")
            self.table.append(form)
        return number


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "…")


# Binary

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


def _arrays(program: Program) -> dict[str, NDArray[Any]]:
    _check_names(program)
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
        "weights": "\n".join(_weight_texts(program)),
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
            raise InputError(f"weight w[{k}] must be an integer or a fraction, not {_short(value)}")
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
    _check_names(program)
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
