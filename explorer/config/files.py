"""The program's directories, and private files that are written atomically."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from explorer.errors import InvalidFile, StorageFault
from explorer.files import replace_file

_APP = "catalog-explorer"


def data_dir() -> Path:
    """Return the directory of the local catalog. It is not created here."""
    return _directory("CATALOG_DATA_DIR", "data")


def state_dir() -> Path:
    """Return the directory for logs, drafts and the state of front ends. It is not created here."""
    return _directory("CATALOG_STATE_DIR", "state")


def config_dir() -> Path:
    """Return the directory for profiles and token files. It is not created here."""
    return _directory("CATALOG_CONFIG_DIR", "config")


def cache_dir() -> Path:
    """Return the directory for cached answers, which may be deleted. It is not created here."""
    return _directory("CATALOG_CACHE_DIR", "cache")


def _directory(variable: str, kind: Literal["cache", "config", "data", "state"]) -> Path:
    text = os.environ.get(variable)
    if text:
        return Path(text).expanduser()
    from platformdirs import PlatformDirs

    return Path(getattr(PlatformDirs(_APP, appauthor=False), f"user_{kind}_dir"))


_OTHERS = 0o077


def read_private(path: Path, *, secret: bool) -> str | None:
    """Return the text of a file, or `None` if it does not exist.

    Raises `InvalidFile` if it is not UTF-8, `StorageFault` if it cannot be read, or is `secret` and
    readable by others.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageFault(f"{path} cannot be read: {error.strerror}") from error
    if secret and os.name == "posix" and mode & _OTHERS:
        raise StorageFault(
            f"{path} holds a token and is open to others (mode {mode & 0o777:04o}); "
            f"run: chmod 600 '{path}'"
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidFile(f"{path}, line {line}: it is not UTF-8 text; correct it") from error


def write_private(path: Path, text: str) -> None:
    """Write a file atomically, readable only by its owner. Raises `StorageFault` if it cannot be
    written."""
    try:
        _make_private(path.parent)
        replace_file(path, text.encode())
    except OSError as error:
        raise _unwritable(path, error) from error


def remove_private(path: Path) -> bool:
    """Delete a file; return whether it existed."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _unwritable(path, error) from error
    return True


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Lock a file until the context ends, so that no concurrent change is lost."""
    try:
        _make_private(path.parent)
        lock = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        _wait_for(lock)
        yield
    finally:
        os.close(lock)


def _make_private(directory: Path) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)


def _unwritable(path: Path, error: OSError) -> StorageFault:
    return StorageFault(
        f"{path} cannot be written ({error.strerror}); "
        "name another directory with CATALOG_CONFIG_DIR"
    )


if os.name == "posix":
    import fcntl

    def _wait_for(lock: int) -> None:
        fcntl.flock(lock, fcntl.LOCK_EX)

else:

    def _wait_for(lock: int) -> None:
        """Do nothing: on other systems than POSIX the file is not locked."""
