"""The server that DataHub's own tools would ask: named by their variables, or by their file."""

import os
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from explorer.config.private import read_private
from explorer.errors import InvalidInput, Unusable

__all__ = ["DataHubServer", "find_datahub"]


@dataclass(frozen=True, slots=True)
class DataHubServer:
    """A server, the token meant for it alone, and where both were found."""

    url: str
    source: str
    token: str | None = field(repr=False)


class _Gms(msgspec.Struct, frozen=True):
    server: str
    token: str | None = None


class _File(msgspec.Struct, frozen=True):
    gms: _Gms


def find_datahub() -> DataHubServer | None:
    """That server; nothing when neither variables nor file name one.

    A port goes with a host and is stronger than an address, as with DataHub's client; the token
    of the environment is not shown to the server of the file. Raises `InvalidInput` for variables
    and `Unusable` for a file that do not make an address.
    """
    url, variable = _from_variables()
    if url:
        return DataHubServer(url, variable, os.environ.get("DATAHUB_GMS_TOKEN") or None)
    if os.environ.get("DATAHUB_SKIP_CONFIG", "").lower() == "true":
        return None
    return _from_file(Path("~/.datahubenv").expanduser())


def _from_variables() -> tuple[str | None, str]:
    host, port = os.environ.get("DATAHUB_GMS_HOST"), os.environ.get("DATAHUB_GMS_PORT")
    protocol = os.environ.get("DATAHUB_GMS_PROTOCOL") or "http"
    if port and not host:
        raise InvalidInput(
            "DATAHUB_GMS_PORT is set and DATAHUB_GMS_HOST is not; set both, or DATAHUB_GMS_URL, "
            "or name a catalog with --url or --profile"
        )
    if port:
        return f"{protocol}://{host}:{port}", "DATAHUB_GMS_HOST"
    url = os.environ.get("DATAHUB_GMS_URL")
    if url or not host:
        return url or None, "DATAHUB_GMS_URL"
    return host if "://" in host else f"{protocol}://{host}", "DATAHUB_GMS_HOST"


def _from_file(path: Path) -> DataHubServer | None:
    text = read_private(path, secret=False)
    if text is None:
        return None
    try:
        gms = msgspec.yaml.decode(text, type=_File).gms
    except msgspec.DecodeError as error:
        said = " ".join(str(error).split())
        raise Unusable(
            f"{path} is not as DataHub's tools write it ({said}); correct it, or set "
            "DATAHUB_SKIP_CONFIG=true to have it left alone"
        ) from error
    return DataHubServer(gms.server, str(path), gms.token or None)
