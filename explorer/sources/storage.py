"""Access to files in a local folder, or in a bucket of S3, Google Cloud Storage or Azure.

Buckets are accessed through pyarrow, which takes keys from the environment, from the files of the
provider's own tools, or from the machine's role. Keys in a URL are refused, and none are stored.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from explorer.errors import InvalidInput, MissingExtra, Unreachable
from explorer.sources.duckdb_file import import_duckdb
from explorer.sources.source import redact

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

BUCKET: Final = re.compile(r"(s3|gs|az)://([^/?#]+)(?:/([^?#]*))?", re.IGNORECASE)
"""The address of a bucket, or of a folder or file in one."""

# By scheme: DataHub's platform, and where keys are taken from.
_PLATFORMS: Final = {
    "s3": ("s3", "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION, or AWS_PROFILE"),
    "gs": ("gcs", "GOOGLE_APPLICATION_CREDENTIALS"),
    "az": ("abs", "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY"),
}
_SECONDS: Final = 15


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file or folder: its name, relative to the listed folder, and its size in bytes. For a link
    to a folder, `is_link` is set and `is_folder` is not, which avoids cycles."""

    name: str
    is_folder: bool = False
    size: int = 0
    is_link: bool = False


class Storage(Protocol):
    """Lists and reads files. The parts of a path are separated by `/`. Each method raises `OSError`
    if something cannot be read."""

    @property
    def platform(self) -> str:
        """DataHub's name for the platform."""

    def list(self, folder: str) -> list[StoredFile]:
        """Return the contents of a folder, sorted by name."""

    def walk(self, folder: str) -> Iterator[StoredFile]:
        """Yield the files below a folder, sorted by name, each with its path relative to it."""

    def read(self, path: str) -> bytes:
        """Return the content of a file."""

    def address(self, path: str) -> str:
        """Return the path in the form that DuckDB and other libraries accept."""

    def open(self, address: str) -> BufferedReader:
        """Return a stream of the bytes of the file at an address."""

    def connect(self) -> "DuckDBPyConnection":
        """Return a connection to an in-memory DuckDB that can read these files."""


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """The local file system."""

    platform: str = "file"

    def list(self, folder: str) -> list[StoredFile]:
        """Return the contents of a folder, sorted by name."""
        files = []
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                files.append(StoredFile(entry.name, is_folder=True))
            elif entry.is_file():
                files.append(StoredFile(entry.name, size=entry.stat().st_size))
            elif entry.is_dir():
                files.append(StoredFile(entry.name, is_link=True))
        return sorted(files, key=lambda file: file.name)

    def walk(self, folder: str) -> Iterator[StoredFile]:
        """Yield the files below a folder, each with its path relative to it."""
        for directory, folders, names in os.walk(folder):
            folders.sort()
            for name in sorted(names):
                path = Path(directory, name)
                if path.is_file():
                    below = path.relative_to(folder).as_posix()
                    yield StoredFile(below, size=path.stat().st_size)

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        return Path(path).read_bytes()

    def address(self, path: str) -> str:
        """Return the path unchanged."""
        return path

    def open(self, address: str) -> BufferedReader:
        """Return a stream of the bytes of a file."""
        return Path(address).open("rb")

    def connect(self) -> "DuckDBPyConnection":
        """Return a connection to an in-memory DuckDB."""
        connection: DuckDBPyConnection = import_duckdb("reading files").connect(":memory:")
        return connection


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket. Paths begin with its name; `scheme` is `s3`, `gs` or `az`."""

    scheme: str
    name: str
    _files: list[Any] = field(default_factory=list, repr=False, compare=False)

    @classmethod
    def parse(cls, location: str) -> "tuple[Bucket, str]":
        """Return the bucket in a URL, and the path in it, which begins with the bucket's name.
        Raises `InvalidInput` if the URL is invalid or contains keys, and `MissingExtra` without
        pyarrow."""
        match = BUCKET.fullmatch(location)
        if match is None or "@" in match[2]:
            scheme, names = location.partition("://")[0].lower(), ""
            if scheme in _PLATFORMS:
                names = f"; keys are taken from {_PLATFORMS[scheme][1]}"
            raise InvalidInput(
                f"the address of a bucket is written as {scheme}://bucket/folder, without keys and "
                f"options{names}"
            )
        bucket = cls(match[1].lower(), match[2])
        bucket._system()
        return bucket, "/".join(filter(None, (match[2], *(match[3] or "").split("/"))))

    @property
    def platform(self) -> str:
        """DataHub's name for the platform."""
        return _PLATFORMS[self.scheme][0]

    def list(self, folder: str) -> list[StoredFile]:
        """Return the contents of a folder, sorted by name. One request per thousand."""
        return list(self._list(folder, is_deep=False))

    def walk(self, folder: str) -> Iterator[StoredFile]:
        """Yield the files below a folder, sorted by name, each with its path relative to it."""
        return (file for file in self._list(folder, is_deep=True) if not file.is_folder)

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        with self._system().open_input_file(path) as file:
            return bytes(file.read())

    def size(self, path: str) -> int | None:
        """Return the size of a file in bytes, or `None` for a folder.

        Raises `InvalidInput` if neither exists, `Unreachable` if the provider does not answer or
        refuses.
        """
        from pyarrow.fs import FileType

        try:
            (info,) = self._system().get_file_info([path])
            if info.type == FileType.NotFound:
                raise InvalidInput(f"there is no {self.scheme}://{path}")
        except OSError as error:
            raise self._failure(path, error) from error
        return int(info.size) if info.type == FileType.File else None

    def address(self, path: str) -> str:
        """Return the path as a URL."""
        return f"{self.scheme}://{path}"

    def open(self, address: str) -> BufferedReader:
        """Return a stream of the bytes of the file at a URL."""
        path = address.removeprefix(f"{self.scheme}://")
        return BufferedReader(self._system().open_input_stream(path, compression=None))

    def connect(self) -> "DuckDBPyConnection":
        """Return a connection to an in-memory DuckDB that can read this bucket."""
        connection: DuckDBPyConnection = import_duckdb("reading files").connect(":memory:")
        # Unlike DuckDB's own extension for buckets, this needs no download.
        connection.register_filesystem(_for_duckdb(self._system(), self.scheme))
        return connection

    def _list(self, folder: str, *, is_deep: bool) -> Iterator[StoredFile]:
        from pyarrow.fs import FileSelector, FileType

        file_infos = self._system().get_file_info(FileSelector(folder, recursive=is_deep))
        for info in sorted(file_infos, key=lambda info: str(info.path)):
            name = str(info.path).removeprefix(folder).strip("/")
            if info.type == FileType.Directory:
                yield StoredFile(name, is_folder=True)
            elif info.type == FileType.File:
                yield StoredFile(name, size=int(info.size))

    def _failure(self, path: str, error: OSError) -> Unreachable:
        reason = redact(" ".join(str(error).split()))
        return Unreachable(
            f"{self.address(path)} cannot be reached: {reason}. Check the bucket's name, and "
            f"{_PLATFORMS[self.scheme][1]}"
        )

    def _system(self) -> Any:
        if not self._files:
            self._files.append(self._open_system())
        return self._files[0]

    def _open_system(self) -> Any:
        try:
            import fsspec  # noqa: F401 - DuckDB asks for it
            from pyarrow import fs
        except ModuleNotFoundError as error:
            raise MissingExtra(f"reading buckets needs {error.name}", "lake") from None
        if self.scheme == "s3":
            return _amazon(fs, self.name)
        if self.scheme == "gs":
            return fs.GcsFileSystem()
        return _azure(fs)


def _amazon(fs: Any, bucket: str) -> Any:
    environment = os.environ
    endpoint = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL") or ""
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    if not region and not endpoint:
        # Use the bucket's own region. If it cannot be determined, that of the AWS profile is used.
        with suppress(OSError):
            region = fs.resolve_s3_region(bucket)
    scheme, mark, host = endpoint.rstrip("/").rpartition("://")
    return fs.S3FileSystem(
        region=region or None,
        endpoint_override=host or None,
        scheme=scheme if mark else "https",
        connect_timeout=_SECONDS,
        request_timeout=2 * _SECONDS,
    )


def _azure(fs: Any) -> Any:
    environment = os.environ
    account = environment.get("AZURE_STORAGE_ACCOUNT_NAME") or environment.get(
        "AZURE_STORAGE_ACCOUNT"
    )
    if not account:
        raise InvalidInput(
            "az:// needs the name of the storage account: set AZURE_STORAGE_ACCOUNT_NAME, and "
            "AZURE_STORAGE_ACCOUNT_KEY unless this machine is signed in"
        )
    key = environment.get("AZURE_STORAGE_ACCOUNT_KEY") or environment.get("AZURE_STORAGE_KEY")
    return fs.AzureFileSystem(account_name=account, account_key=key or None)


def _for_duckdb(system: Any, scheme: str) -> Any:
    """Return a pyarrow file system in the form that DuckDB accepts, for URLs with the given
    scheme."""
    from fsspec.implementations.arrow import ArrowFSWrapper

    class Wrapped(ArrowFSWrapper):  # type: ignore[misc]
        protocol = scheme
        cachable = False

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return path.removeprefix(f"{scheme}://").rstrip("/")

    return Wrapped(system)
