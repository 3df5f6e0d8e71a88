"""The reader of programs as text; :mod:`.text` describes what it reads.

Text is read without ``eval``. Malformed text is refused with an :exc:`InputError` of one line that begins with the
file's name and the line number.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import NoReturn

from skinny.model.errors import InputError
from skinny.model.limits import LINE_BYTE, MOST_DIGITS, check, current
from skinny.model.named_weight import NamedWeight
from skinny.model.rings import parse_ring

from .forms import Form, Input, Linear, Weight
from .probabilities import PROBABILITIES
from .program import CONTRACTS, MOST_WIDTH, Columns, Mode, Output, Program
from .streams import State

__all__ = ["INTEGER", "NAME", "NUMBER", "REGISTER", "VERSION", "Reader", "shortened"]

VERSION = 1
NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
DIGITS = f"[0-9]{{1,{MOST_DIGITS}}}"
NUMBER = re.compile(f"[+-]?{DIGITS}(/{DIGITS})?")
INTEGER = re.compile(f"[+-]?{DIGITS}")
DECLARATION = re.compile(r"([wf])\[([0-9]{1,9})\]\s*=\s*(.*)")
INSTRUCTION = re.compile(r"R([0-9]{1,9})\s*([+-]?)=\s*(.*)")
PRODUCT = re.compile(r"([^\s()-]+?(?:\[t-[0-9]{1,9}\])?)\s*\*\s*R([0-9]{1,9})")
#: What an assign writes: with or without relu, with or without a minus sign.
ASSIGNED = re.compile(r"(relu\s*\()?\s*(-?)\s*((?:[^()-]|\[t-)*?)\s*(\))?")
REGISTER = re.compile("R([0-9]{1,9})")
EMIT = re.compile(
    r"(\S+)\s*=\s*R([0-9]{1,9})(\s+restart)?(?:\s+scale\s+(\S+))?(?:\s+approximation\s+(\S+)(\s+sampled)?)?"
)
#: An input of a window: a name, or one of an earlier sample.
LAGGED = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(\[t-[1-9][0-9]{0,8}\])?")
STATE = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)\s*=\s*R([0-9]{1,9})")
WINDOW = re.compile(r"([0-9]{1,9})\s+hop\s+([0-9]{1,9})")
NAMED = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)\s*=\s*(\S+)\s+in\s+(\S.*)")
#: Characters that are split into lines at once.
BLOCK = 1 << 20
LINEAR_TERM = re.compile(r"(\S+?)(?:\s*\*\s*(\S+))?")
WEIGHT = re.compile(r"w\[([0-9]{1,9})\]")


class Reader:
    """The reader of one text. Instructions in the form that :func:`~.text.dumps` writes are read at once; every other
    line, right or wrong, goes through :meth:`statement`, which has the messages."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.lines: Iterator[tuple[int, str]] = enumerate(_lines(text), 1)
        self.longest = current().memory // LINE_BYTE
        self.line = 0
        self.width = 0
        self.contract = ""
        self.self_check = False
        self.ring = ""
        self.start: tuple[int | Fraction, ...] = ()
        self.state: list[State] = []
        self.window = self.hop = 0
        self.inputs: dict[str, int] | None = None
        self.scales: dict[int, int] = {}
        self.box: dict[int, tuple[Fraction, Fraction]] = {}
        self.named: dict[str, NamedWeight] = {}
        self.words: dict[str, list[tuple[int, Fraction]]] = {}
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
        self.mode: list[int] = []
        self.argmax = ""
        self.probabilities = ""
        self.settable = False
        self.outputs: list[Output] = []
        self.emitted: set[str] = set()

    def fail(self, message: str) -> NoReturn:
        raise InputError(f"{self.name}:{self.line}: {message}")

    def program(self) -> Program:
        title = self.opening()
        signs = {"+=": (1, Mode.ADD), "-=": (-1, Mode.ADD), "=": (1, Mode.ASSIGN)}
        registers, scalars = self.registers, self.scalars
        dst, src, sign, form, mode = self.dst, self.src, self.sign, self.form, self.mode
        ended = False
        number, line = self.line, ""
        for number, line in self.lines:
            if not line:
                continue
            try:
                target, change, term = line.split(" ")
                scalar, _, source = term.rpartition("*")
                j, i, (s, kind), f = registers[target], registers[source], signs[change], scalars[scalar]
                if (i == j and not kind) or ended:
                    raise ValueError
            except (KeyError, ValueError):
                self.line = number
                if len(line) > self.longest:
                    self.fail(f"a line of more than {self.longest:,} characters: --limit memory=SIZE raises that")
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
            mode.append(kind)
        self.line = number - (line == "")
        if not ended:
            self.fail("the program is cut off: its last line must be 'end'")
        try:
            return Program(
                width=self.width,
                inputs=tuple(self.inputs or ()),
                weights=tuple(self.weights),
                derived=tuple(self.derived),
                forms=tuple(self.table),
                code=Columns.of(dst, src, sign, form, mode),
                outputs=tuple(self.outputs),
                contract=self.contract or "clean",
                start=self.start,
                title=title,
                self_check=self.self_check,
                input_scales=tuple(self.scales.get(u, 0) for u in range(len(self.inputs or ()))),
                box=self.whole_box(),
                ring=self.ring,
                named=tuple(weight._replace(words=tuple(self.words[name])) for name, weight in self.named.items()),
                argmax=self.argmax,
                probabilities=self.probabilities,
                settable=self.settable,
                state=tuple(self.state),
                window=self.window,
                hop=self.hop,
            )
        except InputError as error:
            raise InputError(f"{self.name}: {error}") from None

    def opening(self) -> str:
        """The version line, then the title."""
        self.line, line = next(self.lines)
        words = line[:100].split()
        if len(words) != 2 or words[0] != "skinny":
            self.fail(f"the first line must be 'skinny {VERSION}'")
        if words[1] != str(VERSION):
            self.fail(f"version {words[1][:20]} is not known: this program reads version {VERSION}")
        title = []
        for number, line in self.lines:
            if not line.startswith("#"):
                self.lines = itertools.chain([(number, line)], self.lines)
                break
            self.line = number
            title.append(line.removeprefix("#").removeprefix(" ").rstrip())
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
            "settable": self.read_settable,
            "ring": self.read_ring,
            "start": self.read_start,
            "state": self.read_state,
            "window": self.read_window,
            "inputs": self.read_inputs,
            "scale": self.read_scale,
            "box": self.read_box,
            "named": self.read_named,
            "weight": self.read_weight,
            "form": self.read_form,
            "argmax": self.read_argmax,
            "probabilities": self.read_probabilities,
            "table": self.read_table,
        }.get(word)
        if read is None:
            self.fail(f"expected an instruction like 'R0 += x*R1' or a declaration, found {shortened(text)}")
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
        if not 2 <= width <= MOST_WIDTH:
            self.fail(f"the width must be 2 to {MOST_WIDTH}, not {shortened(rest)}")
        self.width = width
        self.registers.update((f"R{r}", r) for r in range(width))

    def read_contract(self, rest: str) -> None:
        self.once(self.contract, "contract")
        if rest not in CONTRACTS:
            self.fail(f"the contract must be in-place or clean, not {shortened(rest)}")
        self.contract = rest

    def read_self_check(self, rest: str) -> None:
        self.once(self.self_check, "self-check")
        if rest:
            self.fail(f"nothing may follow 'self-check', found {shortened(rest)}")
        self.self_check = True

    def read_settable(self, rest: str) -> None:
        self.once(self.settable, "settable")
        if rest:
            self.fail(f"nothing may follow 'settable', found {shortened(rest)}")
        self.settable = True

    def read_ring(self, rest: str) -> None:
        self.once(self.ring, "ring")
        try:
            parse_ring(rest)
        except InputError as error:
            self.fail(str(error))
        self.ring = rest

    def read_start(self, rest: str) -> None:
        self.once(self.start, "start")
        words = rest.split()
        if len(words) != self.need_width():
            self.fail(f"the start vector must have {self.width} entries, not {len(words)}")
        values = (self.number(word, "a start value") for word in words)
        self.start = tuple(int(value) if value.denominator == 1 else value for value in values)

    def read_state(self, rest: str) -> None:
        match = STATE.fullmatch(rest)
        if not match:
            self.fail(f"expected 'state NAME = R0', found {shortened('state ' + rest)}")
        self.state.append(State(match[1], int(match[2])))

    def read_window(self, rest: str) -> None:
        self.once(self.window, "window")
        match = WINDOW.fullmatch(rest)
        if not match or not int(match[1]):
            self.fail(f"expected 'window WORDS hop WORDS', found {shortened('window ' + rest)}")
        if self.inputs is not None:
            self.fail("'window' must come before 'inputs'")
        self.window, self.hop = int(match[1]), int(match[2])

    def read_inputs(self, rest: str) -> None:
        self.once(self.inputs is not None, "inputs")
        self.inputs = {}
        for word in rest.split():
            if not (LAGGED if self.window else NAME).fullmatch(word):
                self.fail(f"an input must be a name, not {shortened(word)}")
            if word in self.inputs:
                self.fail(f"the input {shortened(word)} is given twice")
            self.inputs[word] = len(self.inputs)

    def assignment(self, rest: str, word: str) -> tuple[int, str]:
        """The input and the text behind ``NAME =``."""
        name, equals, value = (part.strip() for part in rest.partition("="))
        if not equals:
            self.fail(f"expected '{word} NAME = …', found {shortened(word + ' ' + rest)}")
        return self.input_index(name), value

    def read_scale(self, rest: str) -> None:
        u, value = self.assignment(rest, "scale")
        self.once(u in self.scales, f"scale {rest.partition('=')[0].strip()}")
        self.scales[u] = self.exponent(value)

    def read_box(self, rest: str) -> None:
        u, value = self.assignment(rest, "box")
        self.once(u in self.box, f"box {rest.partition('=')[0].strip()}")
        self.box[u] = self.pair(value, "a box")

    def whole_box(self) -> tuple[tuple[Fraction, Fraction], ...] | None:
        for name, u in (self.inputs or {}).items() if self.box else ():
            if u not in self.box:
                raise InputError(f"the input {shortened(name)} has no box, but others have")
        return tuple(self.box[u] for u in range(len(self.box))) if self.box else None

    def exponent(self, text: str) -> int:
        if not re.fullmatch("[+-]?[0-9]{1,9}", text):
            self.fail(f"a scale must be a whole number, the exponent of a power of two, not {shortened(text)}")
        return int(text)

    def pair(self, text: str, what: str) -> tuple[Fraction, Fraction]:
        low, colon, high = (part.strip() for part in text.partition(":"))
        if not colon:
            self.fail(f"{what} must be like '-1:1/2', not {shortened(text)}")
        return self.number(low, what), self.number(high, what)

    def number(self, text: str, what: str) -> Fraction:
        if not NUMBER.fullmatch(text):
            self.fail(f"{what} must be an integer or a fraction, not {shortened(text)}")
        above, _, below = text.partition("/")
        if below and not int(below):
            self.fail(f"{what} cannot have the denominator zero")
        return Fraction(int(above), int(below or 1))

    def declaration(self, rest: str, letter: str, count: int) -> str:
        """The text behind ``letter[count] =``."""
        match = DECLARATION.fullmatch(rest)
        if not match or match[1] != letter or int(match[2]) != count:
            self.fail(f"expected '{letter}[{count}] = …', found {shortened(rest)}")
        return match[3]

    def read_named(self, rest: str) -> None:
        match = NAMED.fullmatch(rest)
        if not match:
            self.fail(f"expected 'named NAME = VALUE in LOW:HIGH', found {shortened('named ' + rest)}")
        if match[1] in self.named:
            self.fail(f"the weight {shortened(match[1])} is given twice")
        value = self.number(match[2], "a weight")
        low, high = self.pair(match[3], "a range")
        try:
            self.named[match[1]] = NamedWeight(match[1], value, low, high).checked()
        except InputError as error:
            self.fail(str(error))
        self.words[match[1]] = []

    def read_weight(self, rest: str) -> None:
        value, _, mark = self.declaration(rest, "w", len(self.weights)).partition(" ")
        if mark.strip() not in ("", "derived"):
            self.fail(f"only 'derived' may follow the value of a weight, not {shortened(mark.strip())}")
        factor, _, name = value.rpartition("*")
        if name in self.named:
            times = self.number(factor or "1", "a factor")
            self.words[name].append((len(self.weights), times))
            self.weights.append(times * self.named[name].value)
        else:
            self.weights.append(self.number(value, "a weight"))
        self.derived.append(bool(mark))

    def read_form(self, rest: str) -> None:
        value = self.declaration(rest, "f", len(self.linear))
        terms: list[tuple[int, int]] = []
        bias: int | None = None
        sums: list[tuple[Input | Weight, int]] = []
        for term in [] if value == "0" else value.split("+"):
            match = LINEAR_TERM.fullmatch(term.strip())
            weight = WEIGHT.fullmatch(match[1]) if match else None
            register = self.summed_register(match[2]) if match else None
            if match and register is not None:
                factor = Weight(self.weight_index(weight[1])) if weight else Input(self.input_index(match[1]))
                sums.append((factor, register))
                continue
            if not match or not weight:
                self.fail(f"a term of a form must be like 'w[0]*x', 'x*R1' or 'w[0]', not {shortened(term.strip())}")
            k = self.weight_index(weight[1])
            if match[2] is not None:
                terms.append((k, self.input_index(match[2])))
            elif bias is None:
                bias = k
            else:
                self.fail("a form has at most one bias")
        self.linear.append(Linear(tuple(terms), bias, tuple(sums)))

    def summed_register(self, text: str | None) -> int | None:
        """The register that a term of a form reads; None if it reads none. An input may be called like a register."""
        found = REGISTER.fullmatch(text or "")
        return self.register(found[1]) if found and text not in (self.inputs or {}) else None

    def read_argmax(self, rest: str) -> None:
        self.once(self.argmax, "argmax")
        if not NAME.fullmatch(rest):
            self.fail(f"argmax must be followed by the name of the result, not {shortened(rest)}")
        self.argmax = rest

    def read_probabilities(self, rest: str) -> None:
        self.once(self.probabilities, "probabilities")
        if rest not in PROBABILITIES:
            self.fail(f"probabilities must be followed by {' or '.join(PROBABILITIES)}, not {shortened(rest)}")
        self.probabilities = rest

    def read_table(self, rest: str) -> None:
        for word in rest.split():
            if word in self.scalars:
                self.fail(f"the table lists {shortened(word)} twice")
            self.scalar(word)
        self.declared = True

    def instruction(self, text: str) -> None:
        whole = INSTRUCTION.fullmatch(text)
        assert whole is not None
        mode, sign, product = Mode.ADD, whole[2], whole[3]
        if not sign:
            assigned = ASSIGNED.fullmatch(product)
            if assigned and (assigned[1] is None) == (assigned[4] is None):
                mode, sign, product = Mode.RELU if assigned[1] else Mode.ASSIGN, assigned[2], assigned[3]
        match = PRODUCT.fullmatch(product)
        if not match:
            self.fail(f"expected an instruction like 'R0 += x*R1', found {shortened(text)}")
        dst, src = self.register(whole[1]), self.register(match[2])
        if dst == src and mode == Mode.ADD:
            self.fail(f"dst = src: an instruction cannot read and write R{dst}")
        self.form.append(self.scalar(match[1]))
        self.dst.append(dst)
        self.src.append(src)
        self.sign.append(-1 if sign == "-" else 1)
        self.mode.append(mode)

    def emit(self, rest: str) -> None:
        match = EMIT.fullmatch(rest)
        if not match or not NAME.fullmatch(match[1]):
            self.fail(f"expected 'emit NAME = R0' or 'emit NAME = R0 restart', found {shortened('emit ' + rest)}")
        if match[1] in self.emitted:
            self.fail(f"the output {shortened(match[1])} is given twice")
        self.emitted.add(match[1])
        self.outputs.append(
            Output(
                match[1],
                self.register(match[2]),
                len(self.dst),
                match[3] is not None,
                self.exponent(match[4] or "0"),
                self.number(match[5] or "0", "an approximation"),
                match[6] is not None,
            )
        )

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
            self.fail(f"unknown input {shortened(name)}")
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
                self.fail(f"the table does not list {shortened(text)}")
            self.table.append(form)
        return number


def _lines(text: str) -> Iterator[str]:
    """The lines of ``text``, some at a time, so that many short ones do not fill the memory."""
    begin = 0
    while begin <= len(text):
        check()
        end = text.find("\n", begin + BLOCK)
        end = len(text) if end < 0 else end
        yield from text[begin:end].split("\n")
        begin = end + 1


def shortened(text: str) -> str:
    """``text`` in quotes for a message."""
    return repr(text if len(text) <= 60 else text[:57] + "…")
