"""The cache of builds: folders that are made once and kept, named by a hash of everything that goes into them.

Two processes may ask for the same build: a lock makes the second wait, and a folder gets its name only when it is
complete, so that a build that was interrupted is never taken for a finished one.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from skinny.model.errors import InputError

__all__ = ["cache_folder", "cached"]

#: The environment variable that names the folder for builds.
OVERRIDE = "SKINNY_CACHE"


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
    with open(folder / f"{done.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.is_dir():
            work = Path(tempfile.mkdtemp(prefix=f"{done.name}.", dir=folder))
            try:
                make(work)
                work.rename(done)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    return done
