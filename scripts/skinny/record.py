"""The record of a sweep: a file of JSON lines, a finished unit of work each, that is only ever added to.

A line is written whole and is on the disk before the next unit counts as finished. Whatever interrupts a sweep, the
record holds each unit that was finished, once; the end of a line that was being written is taken off again.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any, Self

from skinny.model.errors import InputError

__all__ = ["Record"]


class Record:
    """The results of finished units by their keys, kept in the file ``path``, or only here without one. It is a context
    manager, which holds a lock on the file: two sweeps do not add to one record at the same time."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._results: dict[str, dict[str, Any]] = {}
        self._file = -1
        self._made = False
        if path is None:
            return
        try:
            self._made = not Path(path).parent.exists()
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror})") from None
        try:
            self._read(path)
        except InputError:
            os.close(self._file)
            raise

    def _read(self, path: str) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{path}: another sweep is adding to this record") from None
        with open(self._file, "rb", closefd=False) as file:
            content = file.read()
        whole = content.rfind(b"\n") + 1
        for number, line in enumerate(content[:whole].splitlines(), 1):
            try:
                entry = json.loads(line)
                self._results[entry["key"]] = dict(entry["result"])
            except (ValueError, TypeError, KeyError):
                raise InputError(f"{path}:{number}: not a line of a sweep; give another folder") from None
        if whole < len(content):
            os.ftruncate(self._file, whole)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file >= 0:
            # What never began leaves nothing behind.
            if not self._results and self._path is not None:
                os.unlink(self._path)
                if self._made:
                    Path(self._path).parent.rmdir()
            os.close(self._file)

    def __contains__(self, key: str) -> bool:
        return key in self._results

    def __getitem__(self, key: str) -> dict[str, Any]:
        return self._results[key]

    def add(self, key: str, kind: str, result: dict[str, Any]) -> None:
        """One more finished unit."""
        self._results[key] = result
        if self._file < 0:
            return
        line = json.dumps({"key": key, "kind": kind, "result": result}, allow_nan=False).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._file, line) :]
            os.fsync(self._file)
        except OSError as error:
            raise InputError(f"{self._path}: cannot be written ({error.strerror})") from None
