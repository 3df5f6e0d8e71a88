"""Files: how text is read within the limits, and how files and folders are written, complete or not at all.

A file or a folder that cannot be used is refused with an :exc:`InputError` of one line that begins with its name.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import IO

from .errors import InputError
from .limits import current, size_text

__all__ = [
    "copy_file",
    "expect_file",
    "expect_folder",
    "is_stream",
    "read_bytes",
    "read_text",
    "write_file",
    "write_folder",
]

#: Bytes that are read at once.
BLOCK = 1 << 20


def read_bytes(path: str | Path, memory: int) -> bytes:
    """The content of a file, or of the standard input for ``-``. Each byte of it counts as ``memory`` bytes of memory;
    what is beyond the limits is refused."""
    name = "<stdin>" if path == "-" else path
    most = current().memory // memory
    content = bytearray()
    try:
        with nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb") as file:
            while len(content) <= most and (block := file.read(BLOCK)):
                content += block
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror or error})") from None
    if len(content) > most:
        limit = size_text(current().memory)
        raise InputError(f"{name}: more than {most:,} bytes need more memory than {limit}: --limit memory=SIZE")
    return bytes(content)


def read_text(path: str | Path, memory: int) -> str:
    """The text of a file, read as :func:`read_bytes` does."""
    content = read_bytes(path, memory)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        name = "<stdin>" if path == "-" else path
        line = content[: error.start].count(b"\n") + 1
        raise InputError(f"{name}:{line}: not UTF-8 text") from None


def is_stream(path: str | Path) -> bool:
    """Whether ``path`` exists and is a pipe, a device or anything else that is written into instead of being
    replaced."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    given = os.path.abspath(path)
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or given.startswith(("/dev/", "/proc/"))


def write_file(path: str | Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let ``write`` fill a file with a temporary name beside ``path``, then give it its name and the permissions of the
    file that it replaces. Links are followed. Pipes and devices are written into."""
    try:
        if is_stream(path):
            with open(path, "wb") as file:
                write(file)
            return
        target = _target(path)
        temporary = target.with_name(f".{target.name[:50]}.{os.getpid()}.tmp")
        try:
            with open(temporary, "xb") as file:
                write(file)
            if target.exists():
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise _refused(path, error) from None


def copy_file(source: Path, path: str | Path) -> None:
    """Write what the file ``source`` has to ``path``, as :func:`write_file` does."""
    with open(source, "rb") as content:
        write_file(path, lambda file: shutil.copyfileobj(content, file))


def expect_file(path: str | Path | None) -> None:
    """Refuse a path that :func:`write_file` could not write, before the work that makes the content. None is refused
    nothing."""
    if path is None or is_stream(path):
        return
    if not str(path):
        raise InputError("the name of the file is empty")
    try:
        target = _target(path)
        if not os.path.lexists(target.parent):
            raise InputError(f"{path}: the folder does not exist")
        tempfile.TemporaryFile(dir=target.parent).close()
    except OSError as error:
        raise _refused(path, error) from None


def expect_folder(path: str | Path | None) -> None:
    """The same for a folder that :func:`write_folder` writes or makes."""
    if path is None:
        return
    if not str(path):
        raise InputError("the name of the folder is empty")
    folder = Path(os.path.realpath(path))
    while not (os.path.lexists(folder) or folder == folder.parent):
        folder = folder.parent
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise _refused(path, error) from None


def _target(path: str | Path) -> Path:
    """The file that ``path`` means, links followed; an :exc:`OSError` if it cannot be one."""
    target = Path(os.path.realpath(path))
    for wrong, number in ((target.is_symlink(), errno.ELOOP), (target.is_dir(), errno.EISDIR)):
        if wrong:
            raise OSError(number, os.strerror(number))
    return target


def _refused(path: str | Path, error: OSError) -> InputError:
    return InputError(f"{path}: cannot be written ({error.strerror or error})")


def write_folder(folder: str | Path, files: Mapping[str, bytes]) -> None:
    """Write ``files``, content by name, into ``folder``, which is made if it is missing. They are written in order:
    when the last one is there, all are."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror or error})") from None
    for name, content in files.items():
        write_file(Path(folder) / name, partial(_put, content))


def _put(content: bytes, file: IO[bytes]) -> None:
    file.write(content)
