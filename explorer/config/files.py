"""The program's directories, and files that only their owner reads, written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from explorer.errors import InvalidFile, StorageFault
from explorer.files import replace_file

__all__ = [
    "cache_dir",
    "changing",
    "config_dir",
    "data_dir",
    "read_private",
    "remove_private",
    "state_dir",
    "write_private",
]

_APP = "catalog-explorer"


def data_dir() -> Path:
    """Return the directory of the embedded catalog; not made here."""
    return _directory("CATALOG_DATA_DIR", "data")


def state_dir() -> Path:
    """Return the directory of logs and of what front ends remember; not made here."""
    return _directory("CATALOG_STATE_DIR", "state")


def config_dir() -> Path:
    """Return the directory of the profiles, and of the tokens in files; not made here."""
    return _directory("CATALOG_CONFIG_DIR", "config")


def cache_dir() -> Path:
    """Return the directory of the answers stored for working offline; not made here, and safe to
    remove."""
    return _directory("CATALOG_CACHE_DIR", "cache")


def _directory(variable: str, kind: Literal["cache", "config", "data", "state"]) -> Path:
    text = os.environ.get(variable)
    if text:
        return Path(text).expanduser()
    from platformdirs import PlatformDirs

    return Path(getattr(PlatformDirs(_APP, appauthor=False), f"user_{kind}_dir"))


_OTHERS = 0o077


def read_private(path: Path, *, secret: bool) -> str | None:
    """Return the text of a file; None when there is no file.

    Raises `InvalidFile` for one that is not UTF-8, `StorageFault` for one that cannot be read, or
    that is `secret` and open to others.
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
    """Put a text in place of the file's; whoever reads meanwhile sees the old or the new one.

    Raises `StorageFault` where that cannot be done.
    """
    try:
        _make_private(path.parent)
        replace_file(path, text.encode())
    except OSError as error:
        raise _unwritable(path, error) from error


def remove_private(path: Path) -> bool:
    """Take a file away; gives whether there was one."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _unwritable(path, error) from error
    return True


@contextmanager
def changing(path: Path) -> Iterator[None]:
    """Alone with a file until the context ends, so that of two changes at once none is lost."""
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
        """Elsewhere two changes at once are left to the people who make them."""
