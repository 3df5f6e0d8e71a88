"""The cache of builds: folders that are made once and kept, named by a hash of everything that goes into them.

Two processes may ask for the same build: a lock makes the second wait, and a folder gets its name only when it is
complete, so that a build that was interrupted is never taken for a finished one.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from skinny.model.cache_folder import OVERRIDE, cache_folder
from skinny.model.errors import InputError

__all__ = ["cached"]

#: Bytes that must be free for a build.
LEAST = 1 << 20
#: What tools say when it was not enough.
FULL = os.strerror(errno.ENOSPC)


def cached(parts: Iterable[str | bytes], make: Callable[[Path], None]) -> Path:
    """The folder that ``make`` fills from ``parts``, made unless it is there."""
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "little") + content)
    folder = cache_folder()
    done = folder / digest.hexdigest()[:32]
    if done.is_dir():
        return done
    if (space := shutil.disk_usage(folder).free) < LEAST:
        raise InputError(f"{folder}: no space is left for builds ({space:,} bytes): {OVERRIDE} names another folder")
    try:
        with open(folder / f"{done.name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.is_dir():
                _make(done, make)
    except OSError as error:
        raise InputError(f"{folder}: cannot be used for builds ({error.strerror}): {OVERRIDE} names another") from None
    return done


def _make(done: Path, make: Callable[[Path], None]) -> None:
    work = Path(tempfile.mkdtemp(prefix=f"{done.name}.", dir=done.parent))
    try:
        make(work)
        work.rename(done)
    except RuntimeError as error:
        # A compiler says so in its own words.
        if FULL in str(error):
            raise InputError(f"{work.parent}: {FULL}: {OVERRIDE} names another folder for builds") from None
        raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
