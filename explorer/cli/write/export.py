"""`catalog export`"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from explorer.cli.parameters import WORDS
from explorer.cli.target import Target, asks_a_catalog

if TYPE_CHECKING:
    from explorer.client.connection import Connection

__all__ = ["export"]

_EPILOG = """
\b
Examples
  catalog export all.json
  catalog export --entity dataset --platform hive | gzip > hive.json.gz
  catalog export - --url http://one:8080 | catalog load - --url http://two:8080

The file is a JSON list of changes, as `catalog load` takes them. Older versions of aspects are not
in it; `catalog backup` copies those too.
"""
_STDOUT = "-"
_PAGE = 200


@click.command(epilog=_EPILOG)
@click.argument("file", default=_STDOUT, metavar="[FILE]", type=click.Path(allow_dash=True))
@click.option("--entity", type=WORDS, help="Only entities of this type, such as dataset.")
@click.option("--platform", type=WORDS, help="Only entities of this platform, such as hive.")
@click.option(
    "--include-removed/--exclude-removed",
    "removed",
    default=True,
    show_default=True,
    help="Whether entities marked as removed are given.",
)
@asks_a_catalog
def export(
    target: Target, file: str, entity: str | None, platform: str | None, *, removed: bool
) -> None:
    """Write everything the catalog holds to FILE, or to standard output.

    All latest aspects and all documents over time. A FILE that exists is replaced once all is
    written.
    """
    from explorer.cli.output import note
    from explorer.client.connection import Connection

    query = {"entity": entity, "platform": platform, "removed": str(removed).lower()}
    with _opened(file) as out:
        connection = Connection(target.url, data_dir=target.data_dir, token=target.token)
        changes, entities = asyncio.run(
            _write(connection, query, out.write, to_stdout=file == _STDOUT)
        )
    note(f"{changes:,} changes of {entities:,} entities are written")


async def _write(
    connection: "Connection",
    query: dict[str, str | None],
    write: Callable[[bytes], Any],
    *,
    to_stdout: bool,
) -> tuple[int, int]:
    import orjson

    from explorer.cli.output import escaped_json

    changes, urns = 0, 0
    last = None
    # Files and pipes get every byte as it is stored.
    shown = escaped_json if sys.stdout.isatty() and to_stdout else bytes
    write(b"[")
    try:
        async for proposal in _proposals(connection, query):
            write((b",\n" if changes else b"\n") + shown(orjson.dumps(proposal)))
            changes += 1
            if proposal["entityUrn"] != last:
                last = proposal["entityUrn"]
                urns += 1
    finally:
        await connection.close()
    write(b"\n]\n")
    return changes, urns


async def _proposals(
    connection: "Connection", query: dict[str, str | None]
) -> AsyncIterator[dict[str, Any]]:
    from urllib.parse import urlencode

    from explorer.client.transport import Request
    from explorer.errors import InvalidInput, NotFound, ServerFault

    after: str | None = ""
    while after is not None:
        given = {"after": after, "limit": str(_PAGE), **query}
        said = urlencode({key: value for key, value in given.items() if value})
        try:
            body = await connection.send(Request("GET", f"/export?{said}"))
        except NotFound as error:
            raise InvalidInput(
                f"{connection.address} cannot export: only a server of `catalog serve` can"
            ) from error
        match body:
            case {"value": {"proposals": [*proposals], "next": str() | None as following}}:
                after = following
            case _:
                raise ServerFault(f"{connection.address} answered with something else")
        for proposal in proposals:
            yield proposal


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    """Where to write; a file has its name only when all of it is there."""
    from explorer.errors import InvalidInput

    if name == _STDOUT:
        yield sys.stdout.buffer
        return
    path = Path(name)
    draft = path.with_name(f"{path.name}.partial")
    try:
        with draft.open("wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InvalidInput(f"{path} cannot be written: {error.strerror or error}") from error
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
