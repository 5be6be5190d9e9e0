"""Copies a search index from one service to another of the same store.

The index is sent as a tar archive: first its state file, then the files of one commit. The receiver
verifies it like an index of its own, and builds one from the store if that fails.
"""

import logging
import shutil
import tarfile
from asyncio import to_thread
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from explorer.server.search.layers import STATE, is_index_file, note_problem

if TYPE_CHECKING:
    from explorer.server.search.fields import Vocabulary
    from explorer.server.store import Store

__all__ = ["PATH", "fetch_index", "packed"]

PATH = "/index/files"

_READ_BYTES = 1 << 20
_SECONDS = 30.0
_log = logging.getLogger("explorer.server.search")


async def packed(directory: Path) -> AsyncGenerator[bytes, None]:
    """Yield the files of a directory as a tar archive, and remove the directory."""
    try:
        for name in await to_thread(_names, directory):
            with (directory / name).open("rb") as file:
                info = tarfile.TarInfo(name)
                info.size = file.seek(0, 2)
                file.seek(0)
                yield info.tobuf()
                while piece := await to_thread(file.read, _READ_BYTES):
                    yield piece
                yield bytes(-info.size % tarfile.BLOCKSIZE)
        yield bytes(2 * tarfile.BLOCKSIZE)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _names(directory: Path) -> list[str]:
    """Return the names of the files of an index, its state file first."""
    return sorted((one.name for one in directory.iterdir()), key=lambda name: name != STATE)


def fetch_index(
    address: str, token: str | None, directory: Path, vocabulary: "Vocabulary", store: "Store"
) -> bool:
    """Copy the index of the service at an address into a directory that has none.

    Returns whether it was copied; if not, the log has the reason. The state file has to match this
    release's document format, the registry and the catalog, and a change that the store has. The
    other files are verified when the index is opened.
    """
    draft = directory.with_name(f"{directory.name}.fetched")
    shutil.rmtree(draft, ignore_errors=True)
    problem, files = "", 0
    try:
        draft.mkdir(mode=0o700, parents=True)
        with _archive(address, token) as archive:
            for member in archive:
                content = archive.extractfile(member)
                if content is None or not is_index_file(member.name):
                    problem = (
                        f"it sent a file that does not belong to an index, {member.name[:80]!r}"
                    )
                    break
                with (draft / member.name).open("wb") as file:
                    shutil.copyfileobj(content, file, _READ_BYTES)
                if files == 0 and (problem := note_problem(draft, vocabulary, store)):
                    break
                files += 1
        if not files and not problem:
            problem = "it sent nothing"
        if not problem:
            directory.mkdir(parents=True, exist_ok=True)
            directory.rmdir()
            draft.rename(directory)
    except (OSError, tarfile.TarError, ValueError) as error:
        problem = f"{error}" or type(error).__name__
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    if problem:
        _log.warning(
            "the search index of %s is not used; one is built from the database instead: %s",
            address,
            problem,
        )
    else:
        _log.warning("the search index was copied from %s, in %d files", address, files)
    return not problem


class _NoRedirect(HTTPRedirectHandler):
    """Refuses redirects, because the token is only for the server at the given address."""

    def redirect_request(self, *_: object) -> None:
        return None


@contextmanager
def _archive(address: str, token: str | None) -> Iterator[tarfile.TarFile]:
    """Open the archive that a service sends. Raises `OSError` and `ValueError` on failure."""
    if not address.startswith(("http://", "https://")):
        raise ValueError("its address must begin with http:// or https://")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    asked = Request(address.rstrip("/") + PATH, headers=headers)  # noqa: S310 - see above
    try:
        answer = build_opener(_NoRedirect).open(asked, timeout=_SECONDS)
    except HTTPError as error:
        with error:
            raise OSError(f"it answered with {error.code} {error.reason}") from None
    with answer, tarfile.open(mode="r|", fileobj=answer) as archive:
        yield archive
