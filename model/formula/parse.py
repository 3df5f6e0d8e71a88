"""Formulas from text like ``y = (a + 2*b)^3 - 3/4*c``.

Statements are separated by ``;`` or new lines; a line that ends with an operator goes on in the next. ``name = …`` is
an output, ``let name = …`` a shared subexpression, and an expression alone is the output ``y``. ``sin(…)`` is a
function, and so is the inverse of a divisor that is no number. ``def sq(t) = t*t`` defines one.
``weight name = 0.8 in 0:2`` is a named weight: a constant that can be set within its range after compiling.
``state s = 0`` keeps a value from one sample of a stream to the next, ``next s = …`` says which, and ``x[t-3]`` is the
input ``x`` three samples back. ``x[0:16]`` is a vector of inputs, ``@W.npy`` a matrix; ``sum`` and ``dot`` make numbers
of them. ``#`` starts a comment. Text is read without recursion and without ``eval``; docs/language.md is its page.
"""

from __future__ import annotations

from fractions import Fraction

from skinny.model.errors import InputError
from skinny.model.limits import FORMULA_BYTE, check, current, watched
from skinny.model.names import element

from .definitions import Definitions, StateFormula
from .expressions import KNOWN, Defined, Expressions
from .formula import Formula, weight
from .hints import WORDS, unknown_function
from .tokens import NAME_START, NUMBER_START
from .vectors import Value, Vector, shape, shape_text

__all__ = ["parse_definitions", "parse_formula"]

#: After one of these a line goes on.
OPEN_ENDS = frozenset("=+-*/^([,")


class _Parser(Expressions):
    """The statements of a text."""

    def __init__(self, text: str, folder: str) -> None:
        super().__init__(text, folder)
        self.outputs: dict[str, Formula] = {}
        self.starts: dict[str, Fraction] = {}
        self.followers: dict[str, Formula] = {}

    def statements(self) -> Definitions:
        tokens = self.tokens
        special = {"weight": self.weight, "state": self.state, "next": self.follower, "def": self.function}
        while self.next < len(tokens):
            check()
            word = tokens[self.next]
            if word in ";\n" or word[0] == "#":
                self.next += 1
            elif word in special and tokens[self.next + 1][0] in NAME_START:
                self.next += 1
                special[word]()
            else:
                self.definition()
        if not self.outputs:
            raise InputError(
                "the formula has no output, only definitions"
                if self.defined or self.functions
                else "the formula is empty"
            )
        for name in self.starts:
            if name not in self.followers:
                raise InputError(f"the state {name!r} has no 'next {name} = …', which says what it becomes")
        states = (StateFormula(name, start, self.followers[name]) for name, start in self.starts.items())
        return Definitions(self.outputs, tuple(states), tuple(self.samples), self.lag)

    def definition(self) -> None:
        """A statement ``name = …``, ``let name = …`` or an expression alone."""
        tokens = self.tokens
        private = tokens[self.next] == "let" and tokens[self.next + 1][0] in NAME_START
        self.next += private
        start, name = self.next, "y"
        if tokens[start][0] in NAME_START and tokens[min(start + 1, len(tokens) - 1)] == "=":
            name = tokens[start]
            self.next += 2
        elif private:
            if tokens[start + 1] == "(":
                self.fail(f"a function is defined by 'def {tokens[start]}(t) = …'", start - 1)
            if tokens[start + 1] == "[":
                self.fail(f"'let {tokens[start]} = …' defines a vector, without its length", start + 1)
            self.fail(f"'let {tokens[start]}' needs '='", start)
        elif tokens[start] in "+-*/^" and name in self.defined:
            self.fail("a line goes on in the next one when it ends with an operator: put this one there", start)
        elif name in self.defined:
            self.expression()  # says first what is wrong with it
        self.expect_new(name, start)
        value = self.expression()
        if tokens[start + 1] == "=" and (name in self.variables or name in self.lengths):
            self.used_in_itself(name, start)
        self.defined[name] = value
        if private:
            return
        if isinstance(value, Formula):
            self.outputs[name] = value
            return
        for index, item in enumerate(value.items):
            if isinstance(item, Vector):
                self.fail(f"an output is a number or a vector, not {shape_text(value)}", start)
            part = element(name, index)
            self.expect_new(part, start)
            self.defined[part] = self.outputs[part] = item

    def used_in_itself(self, name: str, start: int) -> None:
        token = self.tokens.index(name, start + 2) if name in self.tokens[start + 2 :] else start
        self.fail(
            f"{name!r} has no value yet where its own definition uses it: give the new value another name, or keep it "
            f"from sample to sample with 'state {name} = 0; next {name} = …'",
            token,
        )

    def function(self) -> None:
        """A statement ``def name(a, b) = …``, whose body is read at each call."""
        tokens, start = self.tokens, self.next
        name = tokens[start]
        if name in KNOWN or name in self.functions:
            self.fail(f"there is a function {name!r} already", start)
        like = f"a function is defined like 'def {name}(a, b) = a*b'"
        parameters: list[str] = []
        mark = "("
        while mark != ")":
            if tokens[self.next + 1] != mark and not (parameters and tokens[self.next + 1] == ")"):
                self.fail(f"{like}; expected {mark!r}", self.next + 1)
            if tokens[self.next + 1] == ")":
                break
            self.next += 2
            parameter = tokens[self.next]
            if parameter[0] not in NAME_START:
                self.fail(f"{like}; expected the name of an argument", self.next)
            if parameter in parameters:
                self.fail(f"the argument {parameter!r} is there twice", self.next)
            parameters.append(parameter)
            mark = ","
        self.next += 2
        if tokens[self.next] != "=":
            self.fail(f"{like}; expected '='", self.next)
        body = self.next + 1
        self.skip_body(name)
        self.functions[name] = Defined(name, tuple(parameters), body, self.next)

    def skip_body(self, name: str) -> None:
        """Go to the end of the body of the function ``name``, whose ``=`` is next."""
        opened: list[int] = []
        last = "="
        while True:
            word = self.tokens[self.next]
            if word in ";\n" and not (word == "\n" and (opened or last in OPEN_ENDS)):
                break
            if word in "([":
                opened.append(self.next)
            elif word in ")]":
                if not opened:
                    self.fail(f"this {'parenthesis' if word == ')' else 'bracket'} was never opened", self.next)
                opened.pop()
            elif word[0] in NAME_START and self.tokens[self.next + 1] == "(":
                if word == name:
                    self.fail(f"{name!r} calls itself, but functions cannot be recursive", self.next)
                if word not in KNOWN and word not in self.functions:
                    self.fail(WORDS.get(word) or unknown_function(word, KNOWN), self.next)
            if word != "\n" and word[0] != "#":
                last = word
            self.next += 1
        if opened:
            what = "parenthesis" if self.tokens[opened[-1]] == "(" else "bracket"
            self.fail(f"this {what} is never closed", opened[-1])
        if last in OPEN_ENDS:
            self.fail("the formula ends where a value was expected", self.next)

    def declared(self, like: str) -> tuple[str, int, int | None]:
        """A new name, its token, and its number of elements if it is written ``name[0:16]``; '=' comes next."""
        start, name, count = self.next, self.tokens[self.next], None
        self.expect_new(name, start)
        self.next += 1
        if self.tokens[self.next] == "[":
            count = self.whole_vector(name)
            for index in range(count):
                self.expect_new(element(name, index), start)
        if self.tokens[self.next] != "=":
            self.fail(f"{like}; expected '='", self.next)
        self.next += 1
        return name, start, count

    def whole_vector(self, name: str) -> int:
        """The number of elements in a bracket like ``[0:16]``."""
        opened = self.next
        match self.picks(name):
            case [(None | 0, int(count))] if count > 0:
                return count
        self.fail(f"a vector of 16 is written {name}[0:16]", opened)

    def state(self) -> None:
        """A statement ``state name = value``."""
        name, _, count = self.declared(f"'state {self.tokens[self.next]} = 0' says the value before the first sample")
        values = self.numbers(count)
        self.expect_end("the first value of a state")
        names = [name] if count is None else [element(name, index) for index in range(count)]
        nodes = [Formula("variable", value=each) for each in names]
        self.starts.update(zip(names, values, strict=True))
        self.defined.update(zip(names, nodes, strict=True))
        if count is not None:
            self.defined[name] = self.vector(Vector(nodes))

    def follower(self) -> None:
        """A statement ``next name = …``."""
        start, name = self.next, self.tokens[self.next]
        old = self.defined.get(name)
        names = [name] if not isinstance(old, Vector) else [element(name, index) for index in range(len(old.items))]
        if names[0] not in self.starts:
            self.fail(f"'next {name}' needs 'state {name} = …' before it", start)
        for each in names:
            if each in self.followers:
                self.fail(f"'next {each}' is there twice", start)
        if self.tokens[start + 1] != "=":
            self.fail(f"'next {name}' needs '='", start)
        self.next += 2
        value = self.expression()
        assert old is not None
        if shape(value) != shape(old):
            self.fail(f"{name!r} is {shape_text(old)}, but its next value is {shape_text(value)}", start)
        self.followers.update(zip(names, _flat(value), strict=True))

    def weight(self) -> None:
        """A statement ``weight name = value in low:high``."""
        like = f"a weight is written like 'weight {self.tokens[self.next]} = 0.8 in 0:2'"
        name, start, count = self.declared(like)
        values = self.numbers(count)
        limits = []
        for mark in ("in", ":"):
            if self.tokens[self.next] != mark:
                self.fail(f"{like}; expected {mark!r}", self.next)
            self.next += 1
            limits.append(self.signed_number())
        names = [name] if count is None else [element(name, index) for index in range(count)]
        try:
            nodes = [weight(each, value, *limits) for each, value in zip(names, values, strict=True)]
        except InputError as error:
            self.fail(str(error), start)
        self.defined.update(zip(names, nodes, strict=True))
        if count is not None:
            self.defined[name] = self.vector(Vector(nodes))
        self.expect_end("the range of a weight")

    def numbers(self, count: int | None) -> list[Fraction]:
        """The numbers that something is declared with: one, for a vector one for all, a list, or those of a file."""
        start, word = self.next, self.tokens[self.next]
        if count is None or not (word == "[" or word[0] == "@"):
            return [self.signed_number()] * (count or 1)
        if word == "[":
            found: list[Fraction] = []
            while not found or self.tokens[self.next] == ",":
                self.next += 1
                found.append(self.signed_number())
            if self.tokens[self.next] != "]":
                self.fail("this bracket is never closed", start)
            self.next += 1
        else:
            read = self.file(word)
            self.next += 1
            if len(shape(read)) != 1:
                self.fail(f"expected a vector of {count:,} numbers, found {shape_text(read)}", start)
            found = [item.value for item in _flat(read)]
        if len(found) != count:
            self.fail(f"expected {count:,} numbers, found {len(found):,}", start)
        return found

    def signed_number(self) -> Fraction:
        """A number like ``-1/2``."""
        sign = -1 if self.tokens[self.next] == "-" else 1
        self.next += self.tokens[self.next] in "+-"
        word = self.tokens[self.next]
        if word[0] not in NUMBER_START or word == ".":
            self.fail("expected a number", self.next)
        factors = [self.number(word)]
        self.next += 1
        if self.tokens[self.next] == "/" and self.tokens[self.next + 1][0] in NUMBER_START:
            divisor = self.number(self.tokens[self.next + 1])
            self.next += 2
            self.place_factor(factors, divisor, divides=True)
        value: Fraction = sign * factors[0].value
        return value

    def expect_end(self, what: str) -> None:
        if not self.ends_line(self.next):
            self.fail(f"nothing may follow {what}", self.next)

    def expect_new(self, name: str, token: int) -> None:
        if name in self.starts:
            self.fail(f"{name!r} is a state: 'next {name} = …' says what it becomes", token)
        if name in self.defined:
            self.fail(f"{name!r} is defined twice", token)
        if name in self.variables or name in self.lengths:
            self.fail(f"{name!r} is defined after it was used as an input", token)


def _flat(value: Value) -> list[Formula]:
    """The number, or those of a vector."""
    return [value] if isinstance(value, Formula) else [item for item in value.items if isinstance(item, Formula)]


def parse_definitions(text: str, folder: str = "") -> Definitions:
    """What ``text`` says; files that it names are in ``folder``. Raises :exc:`InputError` with line, column and a
    caret."""
    most = current().memory // FORMULA_BYTE
    if len(text) > most:
        raise InputError(f"the formula has more than {most:,} characters: --limit memory=SIZE raises that")
    with watched("reading the formula"):
        return _Parser(text, folder).statements()


def parse_formula(text: str) -> dict[str, Formula]:
    """The outputs of ``text`` by name, in order; a stream formula is refused."""
    found = parse_definitions(text)
    found.expect_single_run("here are only")
    return found.outputs
