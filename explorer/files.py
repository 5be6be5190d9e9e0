"""Writing files atomically, and unpacking bytes."""

import errno
import os
import stat
import tempfile
import zlib
from pathlib import Path

_LONGEST = 60
# The errors of opening a symbolic link, a socket, and a file that was deleted meanwhile.
_NOT_OPENED = (errno.ELOOP, errno.ENXIO, errno.ENOENT)
_FULL = (errno.ENOSPC, errno.EDQUOT)
# SQLITE_FULL, and SQLITE_IOERR_SHMSIZE: no space for the file that connections share as memory.
_SQLITE_FULL = (13, 4874)


def replace_file(
    path: Path, data: bytes, *, mode: int | None = 0o600, is_synced: bool = True
) -> None:
    """Write bytes to a file atomically, replacing its content or creating it with `mode`. If `mode`
    is `None`, an existing file keeps its mode, and a new one gets the usual mode of new files.

    Other processes, and this one after a crash, see either the old content or the new, never a
    part. With `is_synced` the new content is on disk when this returns, also after a power failure.
    If root writes it, the file keeps its owner, or a new file gets the owner of the directory, so
    that a service of that user can still read it. A symbolic link stays, and the file that it
    points to is replaced; a device or a pipe is written to. The directory has to exist. Raises
    `OSError`: the file then has the old content, or the new if only syncing the directory failed.
    """
    target = path_to_replace(path)
    if target is None:
        path.write_bytes(data)
        return
    path = target
    if mode is None:
        mode = path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask()
    descriptor, name = tempfile.mkstemp(".part", f".{path.name[:_LONGEST]}-", path.parent)
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            keep_owner(descriptor, path if path.exists() else path.parent)
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


def keep_owner(descriptor: int, other: Path) -> None:
    """Give an open file the owner and group of another file or directory if this process runs as
    root, and do nothing otherwise. Raises `OSError`."""
    if os.name == "posix" and os.geteuid() == 0:
        status = other.stat()
        if (status.st_uid, status.st_gid) != (0, 0):
            os.fchown(descriptor, status.st_uid, status.st_gid)


def give_to_owner(directory: Path) -> None:
    """Give all files of root in a directory, at any depth, to the owner and group of the directory
    if this process runs as root, and do nothing otherwise. Raises `OSError`.

    Links stay root's, and so do files that have another hard link elsewhere: the owner of the
    directory may have put them there.
    """
    if os.name != "posix" or os.geteuid() != 0:
        return
    owner = directory.stat()
    if owner.st_uid == 0:
        return
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    # Resolved, because for a dynamic user of systemd the directory is a symbolic link.
    for _, folders, files, folder_descriptor in os.fwalk(directory.resolve()):
        for name in (*folders, *files):
            try:
                # Opened first, so that the file cannot be replaced before its owner is changed.
                descriptor = os.open(name, flags, dir_fd=folder_descriptor)
            except OSError as error:
                if error.errno in _NOT_OPENED:
                    continue
                raise
            try:
                status = os.fstat(descriptor)
                is_file = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
                if status.st_uid == 0 and (is_file or stat.S_ISDIR(status.st_mode)):
                    os.fchown(descriptor, owner.st_uid, owner.st_gid)
            finally:
                os.close(descriptor)


def path_to_replace(path: Path) -> Path | None:
    """Return the path of the file that is replaced when `path` is written: the target of a symbolic
    link, else `path`. `None` for a device or a pipe, which is written to instead of replaced."""
    if path.exists() and not path.is_file():
        return None
    return path.resolve() if path.is_symlink() else path


def is_full(error: BaseException | None) -> bool:
    """Return whether an error, or one that caused it, means that a disk is full or a quota is used
    up."""
    while error is not None:
        code = getattr(error, "sqlite_errorcode", 0)
        # tantivy reports errors of the system only as text.
        is_said = f"(os error {errno.ENOSPC})" in str(error)
        if is_said or code in _SQLITE_FULL or getattr(error, "errno", None) in _FULL:
            return True
        error = error.__cause__
    return False


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# The rest of a piece is copied at the end of each member, so pieces are short, for data of many
# small members.
_GZIP_PIECE_BYTES = 1024


def unpack(packed: bytes, most_bytes: int, *, with_zlib: bool = False) -> bytes:
    """Decompress gzip data, which may have several members (RFC 1952); with `with_zlib` also zlib
    data, which is recognized by its first bytes.

    Raises `OverflowError` if the result is longer than `most_bytes`, and `ValueError` if the data
    is damaged, ends early, or is followed by anything else.
    """
    chunks: list[bytes] = []
    size = at = 0
    unpacker = None
    while at < len(packed):
        if unpacker is None or unpacker.eof:
            unpacker = zlib.decompressobj(zlib.MAX_WBITS | (32 if with_zlib else 16))
        piece = packed[at : at + _GZIP_PIECE_BYTES]
        try:
            chunks.append(unpacker.decompress(piece, most_bytes + 1 - size))
        except zlib.error as error:
            raise ValueError(str(error)) from None
        size += len(chunks[-1])
        if size > most_bytes:
            raise OverflowError
        at += len(piece) - len(unpacker.unused_data)
    if unpacker is None or not unpacker.eof:
        raise ValueError("it ends early")
    return b"".join(chunks)
