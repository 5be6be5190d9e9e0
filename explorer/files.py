"""Files that are replaced whole."""

import os
import tempfile
from pathlib import Path

__all__ = ["replace_file"]

_LONGEST = 60


def replace_file(path: Path, data: bytes, *, mode: int = 0o600, is_synced: bool = True) -> None:
    """Put bytes in the place of a file's, or into a new file of this mode. Whoever reads meanwhile,
    and after a crash, sees the one before or this one, whole.

    With `is_synced` it is on disk when this returns, also after a power failure. Its directory has
    to exist. Raises `OSError`: the file is then the one before, or this one where all that failed
    was to have its name on disk.
    """
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
