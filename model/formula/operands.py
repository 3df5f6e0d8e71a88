"""What stands for a value in a text: names, numbers, files, elements of vectors and earlier samples."""

from __future__ import annotations

import math
import os
import re
from fractions import Fraction

from skinny.model.errors import InputError
from skinny.model.limits import MOST_BITS, MOST_DIGITS, DigitsError, check, check_digits, current
from skinny.model.names import element, vector_of
from skinny.model.tables import read_numbers

from .definitions import LARGEST_LAG, lagged
from .formula import Formula, constant, postorder
from .function import apply
from .tokens import Tokens
from .vectors import Pick, ShapeError, Value, Vector, constants, mapped, picked

__all__ = ["NewName", "Operands"]

#: Bytes of memory for each operation that vectors and functions write.
WRITTEN_BYTE = 1024
#: The most elements that one input vector has.
MOST_ELEMENTS = 1 << 16


class NewName:
    """A name that means nothing yet, alone as an argument: ``dot`` makes it a vector of the length that fits, and all
    else an input."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Operands(Tokens):
    """What is known of the names of a text. ``scope`` are the arguments of the function that is being evaluated,
    ``lengths`` the input vectors, ``folder`` is where files are."""

    def __init__(self, text: str, folder: str = "") -> None:
        super().__init__(text)
        self.folder = folder
        self.variables: dict[str, Formula] = {}
        self.constants: dict[str, Formula] = {}
        self.defined: dict[str, Value] = {}
        self.scope: dict[str, Value | NewName] = {}
        self.lengths: dict[str, int | None] = {}
        self.files: dict[str, Value] = {}
        self.samples: dict[str, None] = {}
        self.lag = 0
        #: Whether there is a vector anywhere, and how many operations were written by vectors and functions.
        self.shaped = False
        self.written = 0

    def write(self, count: int) -> None:
        """Count operations that the text does not have but that vectors and functions write."""
        self.written += count
        most = current().memory // WRITTEN_BYTE
        if self.written > most:
            message = f"vectors and functions make more than {most:,} operations of this formula"
            self.fail(f"{message}: --limit memory=SIZE raises that", self.next - 1)
        check()

    def vector(self, value: Value) -> Value:
        """``value``, which may be a vector."""
        self.shaped |= isinstance(value, Vector)
        return value

    def named(self, word: str) -> Value:
        """What the name ``word`` stands for, an input if it is new."""
        found = self.scope.get(word) or self.defined.get(word) or self.variables.get(word)
        if found is None:
            return self.vector(self.new_input(word))
        return self.named_outside(found.name) if isinstance(found, NewName) else found

    def named_outside(self, word: str) -> Value:
        """The same outside the function that is being evaluated."""
        return self.defined.get(word) or self.variables.get(word) or self.new_input(word)

    def new_input(self, word: str) -> Value:
        if word in self.lengths:
            count = self.lengths[word]
            if count is None:
                self.fail(f"how long is {word!r}? Name it as {word}[0:16] once before", self.next - 1)
            return self.input_elements(word, (0, count))
        part = vector_of(word)
        if part and isinstance(self.defined.get(part[0]), Vector):
            self.fail(f"{part[0]!r} is a vector that was computed: write {part[0]}[{part[1]}]", self.next - 1)
        return self.input(word)

    def input(self, name: str) -> Formula:
        found = self.variables.get(name)
        if found is None:
            found = self.variables[name] = Formula("variable", value=name)
            self.samples[name] = None
        return found

    def is_new(self, word: str) -> bool:
        """Whether ``word``, which is to be read, stands alone as an argument and means nothing yet."""
        if self.tokens[self.next - 1] not in "(," or self.tokens[self.next + 1] not in ",)":
            return False
        known = self.scope.get(word)
        return isinstance(known, NewName) or (known is None and not self.is_known(NewName(word)))

    def is_known(self, new: NewName) -> bool:
        return new.name in self.defined or new.name in self.variables or new.name in self.lengths

    def new_name(self, word: str) -> NewName:
        known = self.scope.get(word)
        return known if isinstance(known, NewName) else NewName(word)

    def bracketed(self, word: str) -> Value:
        """``word`` with what its brackets choose: elements, or a sample of an earlier time."""
        if self.tokens[self.next + 1] == "t" and self.tokens[self.next + 2] in "]-+:":
            return self.postfixed(self.earlier(self.named(word), word))
        known = self.scope.get(word)
        name = known.name if isinstance(known, NewName) else word
        if (known is None or isinstance(known, NewName)) and name not in self.defined:
            if name in self.variables:
                self.fail(f"{name!r} is a single input, not a vector", self.next - 1)
            picks = self.picks(name)
            if len(picks) > 1:
                self.fail(f"the inputs {name} are a vector, so they have one index", self.next - 1)
            return self.postfixed(self.vector(self.input_elements(name, picks[0])))
        return self.postfixed(self.named(word))

    def postfixed(self, value: Value) -> Value:
        """``value`` with what the brackets behind it choose."""
        while self.tokens[self.next] == "[":
            opened = self.next
            if self.tokens[self.next + 1] == "t":
                value = self.earlier(value, "this value")
                continue
            if isinstance(value, Formula):
                self.fail("a single number has no elements", opened)
            picks = self.picks("it")
            try:
                value = picked(value, picks)
            except ShapeError as error:
                self.fail(str(error), opened)
        return value

    def picks(self, name: str) -> list[Pick]:
        """Indices like ``[3]``, ``[0:16]`` or ``[2, 0:4]``."""
        opened = self.next
        out: list[Pick] = []
        while not out or self.tokens[self.next] == ",":
            self.next += 1
            first = self.whole(name)
            if self.tokens[self.next] == ":":
                self.next += 1
                out.append((first, self.whole(name)))
            elif first is None:
                self.fail(f"an index is a whole number from 0 on, as in {name}[3] or {name}[0:16]", self.next)
            else:
                out.append(first)
        if self.tokens[self.next] != "]":
            if self.ends_line(self.next):
                self.fail("this bracket is never closed", opened)
            self.fail(f"an index is a whole number from 0 on, as in {name}[3] or {name}[0:16]", self.next)
        self.next += 1
        return out

    def whole(self, name: str) -> int | None:
        """A whole number, if there is one."""
        word = self.tokens[self.next]
        if word == "-":
            self.fail(f"indices count from 0 on: {name}[0] is the first, and there are none below zero", self.next)
        if not (word.isascii() and word.isdecimal()):
            return None
        if len(word) > 9:
            self.fail("this index is too large", self.next)
        self.next += 1
        return int(word)

    def input_elements(self, word: str, pick: Pick) -> Value:
        """Inputs that are elements of the vector ``word``, which was not computed."""
        length = self.lengths.setdefault(word, None)
        if isinstance(pick, int):
            first, end = pick, pick + 1
        else:
            first, last = pick[0] or 0, length if pick[1] is None else pick[1]
            if last is None:
                self.fail(f"how long is {word!r}? Write {word}[{first}:16]", self.next - 1)
            end = last
            if first >= end:
                self.fail(f"there are no elements {first}:{end}", self.next - 1)
        if length is not None and end > length:
            self.fail(f"{word!r} has {length:,} elements, {word}[0] to {word}[{length - 1}]", self.next - 1)
        if end > MOST_ELEMENTS:
            self.fail(f"a vector has {MOST_ELEMENTS:,} elements at most", self.next - 1)
        if not isinstance(pick, int) and first == 0:
            self.lengths[word] = end
        for index in range(first, end):
            if element(word, index) in self.defined:
                name = element(word, index)
                self.fail(f"{word}[{index}] is the input {name!r}, but {name!r} was defined before", self.next - 1)
        if isinstance(pick, int):
            return self.input(element(word, pick))
        return Vector([self.input(element(word, index)) for index in range(first, end)])

    def earlier(self, now: Value, word: str) -> Value:
        """Inputs of an earlier sample, ``x[t-3]``, or of several, ``x[t:t-16]``, whose bracket comes next."""
        opened = self.next
        self.next += 1
        first = self.moment(word)
        last = None
        if self.tokens[self.next] == ":":
            self.next += 1
            last = self.moment(word)
            if last <= first:
                self.fail(f"the newest sample comes first: {word}[t:t-16] are the newest 16", self.next - 1)
        if self.tokens[self.next] != "]":
            self.fail("this bracket is never closed", opened)
        self.next += 1

        def at(lag: int) -> Value:
            return mapped(lambda node: self.lagged_input(node, lag, word, opened - 1), now)

        return at(first) if last is None else self.vector(Vector([at(lag) for lag in range(first, last)]))

    def moment(self, word: str) -> int:
        """The samples that a time like ``t-3`` is back."""
        if self.tokens[self.next] != "t":
            self.fail(f"an earlier sample is written like {word}[t-3]; expected 't'", self.next)
        self.next += 1
        if self.tokens[self.next] == "+":
            self.fail(f"a sample that is still to come cannot be read: write {word}[t-1], {word}[t-2], …", self.next)
        if self.tokens[self.next] != "-":
            return 0
        number = self.tokens[self.next + 1]
        if not (number.isascii() and number.isdecimal()) or not int(number[:9]):
            self.fail("a number of samples must be a whole number from 1 on", self.next + 1)
        if int(number[:9]) > LARGEST_LAG + 1:
            self.fail(f"a sample can be at most {LARGEST_LAG:,} back", self.next + 1)
        self.next += 2
        return int(number)

    def lagged_input(self, node: Formula, lag: int, word: str, token: int) -> Formula:
        if node.kind != "variable" or node.value not in self.samples:
            self.fail(f"only inputs can be read at an earlier time, and {word!r} is none", token)
        if lag > LARGEST_LAG:
            self.fail(f"a sample can be at most {LARGEST_LAG:,} back", self.next - 2)
        if not lag:
            return node
        self.lag = max(self.lag, lag)
        name = lagged(node.value, lag)
        return self.variables.setdefault(name, Formula("variable", value=name))

    def file(self, word: str) -> Value:
        """The numbers of a file, ``@W.npy`` or ``@"my weights.csv"``."""
        path = word[1:].strip('"')
        found = self.files.get(path)
        if found is None:
            if not path.endswith((".npy", ".csv")):
                self.fail('a file of numbers is written like @W.npy, @W.csv or @"my weights.npy"', self.next)
            try:
                found = constants(read_numbers(os.path.join(self.folder, path)))
            except InputError as error:
                self.fail(str(error), self.next)
            self.files[path] = self.vector(found)
        return found

    def number(self, word: str) -> Formula:
        found = self.constants.get(word)
        if found is None:
            exponent = re.search("[eE]([+-]?[0-9]+)$", word)
            if len(word) > MOST_DIGITS or (exponent and abs(int(exponent[1])) > MOST_DIGITS):
                self.fail("this number is too long", self.next)
            found = self.constants[word] = self.bounded(Fraction(word))
        return found

    def bounded(self, value: Fraction) -> Formula:
        try:
            check_digits(value)
        except DigitsError:
            self.fail("this number is too long", min(self.next, len(self.tokens) - 2))
        return constant(value)

    def divisor(self, value: Formula) -> Formula:
        """One through ``value``."""
        divisor = self.folded(value)
        if divisor is None:
            return apply("inverse", value)
        if divisor == 0:
            self.fail("division by zero", self.next - 1)
        return constant(1 / divisor)

    def folded(self, value: Formula) -> Fraction | None:
        """The number that ``value`` is, if nothing in it depends on an input."""
        known: dict[int, Fraction] = {}
        for node in postorder(value):
            args = [known[id(arg)] for arg in node.args]
            match node.kind:
                case "constant":
                    found = node.value
                case "sum":
                    found = sum(args, Fraction(0))
                case "product":
                    found = math.prod(args, start=Fraction(1))
                case "power":
                    bits = max(args[0].numerator.bit_length(), args[0].denominator.bit_length())
                    if bits * node.value > MOST_BITS:
                        self.fail("this number is too long", self.next - 1)
                    found = args[0] ** node.value
                case _:
                    return None
            known[id(node)] = self.bounded(found).value
        return known[id(value)]
