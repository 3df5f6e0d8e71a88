"""The folder for builds, and what other packages are told to keep theirs in."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import InputError

__all__ = ["OVERRIDE", "cache_folder", "user_cache"]

#: The environment variable that names the folder for builds.
OVERRIDE = "SKINNY_CACHE"
#: The environment variable that names the folder in which programs of the user keep what they can make again.
USER = "XDG_CACHE_HOME"


def cache_folder() -> Path:
    """The folder that keeps builds: ``$SKINNY_CACHE``, else ``skinny`` in the user's cache folder, else one of the
    user's own under the folder for temporary files."""
    if given := os.environ.get(OVERRIDE):
        folder = Path(given)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{OVERRIDE}={given}: {error.strerror or error}") from None
        return folder.resolve()
    home = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("HOME") and os.path.join(os.environ["HOME"], ".cache"))
    for folder in ([Path(home) / "skinny"] if home else []) + [Path(tempfile.gettempdir()) / f"skinny-{os.getuid()}"]:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Files of this folder are run, so nobody else may have put them here.
            if folder.stat().st_uid == os.getuid() and os.access(folder, os.W_OK | os.X_OK):
                return folder.resolve()
        except OSError:
            continue
    return Path(tempfile.mkdtemp(prefix="skinny-"))


@contextmanager
def user_cache() -> Iterator[None]:
    """Inside the ``with`` block :data:`USER` names a folder that can be written, :func:`cache_folder` where the usual
    one cannot: wasmtime, in which the Yosys of Amaranth runs, ends with an error without one."""
    before = os.environ.get(USER)
    usual = before or os.path.join(os.environ.get("HOME") or os.path.expanduser("~"), ".cache")
    try:
        os.makedirs(usual, exist_ok=True)
        tempfile.TemporaryFile(dir=usual).close()
    except OSError:
        os.environ[USER] = str(cache_folder())
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(USER, None)
        else:
            os.environ[USER] = before
