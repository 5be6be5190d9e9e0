"""Writing files atomically."""

import os
import tempfile
from pathlib import Path

__all__ = ["replace_file", "replaced_path"]

_LONGEST = 60


def replace_file(
    path: Path, data: bytes, *, mode: int | None = 0o600, is_synced: bool = True
) -> None:
    """Write bytes to a file atomically, replacing its content or creating it with `mode`. Without a
    mode the file keeps its own, or gets that of any new file.

    Other processes, and this one after a crash, see either the old content or the new, never a
    part. With `is_synced` the new content is on disk when this returns, also after a power failure.
    A symbolic link stays, and the file that it points to is replaced; a device or a pipe is written
    to. The directory has to exist. Raises `OSError`: the file then has the old content, or the new
    if only syncing the directory failed.
    """
    found = replaced_path(path)
    if found is None:
        path.write_bytes(data)
        return
    path = found
    if mode is None:
        mode = path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask()
    descriptor, name = tempfile.mkstemp(".part", f".{path.name[:_LONGEST]}-", path.parent)
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if is_synced:
                file.flush()
                os.fsync(file.fileno())
        draft.chmod(mode)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    if is_synced and os.name == "posix":
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def replaced_path(path: Path) -> Path | None:
    """Return the path of the file that is replaced when `path` is written: that which a symbolic
    link points to. `None` for a device or a pipe, which has to be written to as it is."""
    if path.exists() and not path.is_file():
        return None
    return path.resolve() if path.is_symlink() else path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
