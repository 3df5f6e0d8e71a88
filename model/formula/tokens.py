"""The tokens of a text, and messages that show their place."""

from __future__ import annotations

import re
from typing import NoReturn

from skinny.model.errors import InputError

__all__ = ["NAME_START", "NUMBER_START", "Tokens"]

#: A name, a number, a power, a file, or any other character that is not blank; comments are matched so that they can be
#: dropped.
TOKEN = re.compile(
    r"[A-Za-z_][A-Za-z_0-9]*|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|\#[^\n]*|\n|\*\*"
    r'|@"[^"\n]*"|@[^\s"()\[\],;*+]*?\.(?:npy|csv)(?![A-Za-z_0-9.])|[^ \t\r]'
)
NAME_START = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
NUMBER_START = frozenset("0123456789.")


class Tokens:
    """The tokens of ``text``, of which ``tokens[next]`` is the one to be read; the last one is a ``;``.

    Tokens are plain strings, ``**`` is ``^``. The place of a token in the text is looked for only when a message names
    it. ``calls`` are the functions that are being evaluated, with the tokens that call them.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str] = TOKEN.findall(text)
        if "**" in text:
            self.tokens = ["^" if token == "**" else token for token in self.tokens]
        self.tokens.append(";")
        self.next = 0
        self.calls: list[tuple[str, int]] = []

    def fail(self, message: str, token: int) -> NoReturn:
        """Refuse the text for what is wrong at ``token``; what to do stands behind a colon in ``message``."""
        row, column = self.place(token)
        line = (self.text.split("\n"))[row - 1]
        first = max(0, column - 60)
        shown = line[first : column + 20]
        where = f"line {row}, column {column}"
        if self.calls:
            name, caller = self.calls[-1]
            where += f", in {name!r} called at line {self.place(caller)[0]}"
        head, colon, more = message.partition(": ")
        raise InputError(f"{head} at {where}{colon}{more}\n  {shown}\n  {' ' * (column - 1 - first)}^")

    def place(self, token: int) -> tuple[int, int]:
        """The line and the column of a token, counted from 1."""
        position = len(self.text)
        for index, match in enumerate(TOKEN.finditer(self.text)):
            if index == token:
                position = match.start()
                break
        before = self.text[:position]
        return before.count("\n") + 1, position - before.rfind("\n")

    def ends_line(self, token: int) -> bool:
        """Whether a statement ends before ``token``."""
        return self.tokens[token] in ";\n" or self.tokens[token][0] == "#"
