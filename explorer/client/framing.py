"""The head of an HTTP/1.1 answer, and how its body is delimited. Pure: bytes in, records out.

Every parser raises `ValueError` with a few words for what is no HTTP.
"""

from dataclasses import dataclass

__all__ = ["Framing", "Head", "read_chunk_size", "read_head", "write_head"]

_BODYLESS = (204, 304)
_MAX_LENGTH_DIGITS = 15
_MAX_CHUNK_DIGITS = 8
_HEX_DIGITS = b"0123456789abcdefABCDEF"


@dataclass(frozen=True, slots=True)
class Head:
    """The first lines of an answer; names are in lower case."""

    version: bytes
    status: int
    headers: list[tuple[bytes, bytes]]

    def all(self, name: bytes) -> list[bytes]:
        """Every value of a header, in the order sent."""
        return [value for key, value in self.headers if key == name]


@dataclass(frozen=True, slots=True)
class Framing:
    """How long a body is: `length` bytes, or `chunked`, or with neither until the server hangs up.
    `stays` says whether the connection is good for another request afterwards."""

    length: int | None
    chunked: bool
    stays: bool

    @classmethod
    def of(cls, head: Head) -> "Framing":
        """What a head says of the body that follows. Raises `ValueError`."""
        wishes = b",".join(head.all(b"connection")).lower()
        stays = b"close" not in wishes and (head.version != b"HTTP/1.0" or b"keep-alive" in wishes)
        if head.status in _BODYLESS:
            return cls(0, False, stays)
        codings = [
            one.strip().lower() for one in b",".join(head.all(b"transfer-encoding")).split(b",")
        ]
        if codings[-1] == b"chunked":
            return cls(None, True, stays)
        lengths = {one.strip() for one in b",".join(head.all(b"content-length")).split(b",")} - {
            b""
        }
        if not lengths:
            return cls(None, False, False)
        text = lengths.pop()
        if lengths or not text.isdigit() or len(text) > _MAX_LENGTH_DIGITS:
            raise ValueError("its answer says two lengths, or none that is a number")
        return cls(int(text), False, stays)


def read_head(text: bytes) -> Head:
    """The first lines of an answer, up to the empty one."""
    first, *rows = text[:-4].split(b"\r\n")
    version, _, after = first.partition(b" ")
    status = after[:3]
    if not version.startswith(b"HTTP/1.") or not status.isdigit() or len(status) != 3:
        raise ValueError("its answer is no HTTP")
    headers = []
    for row in rows:
        name, found, value = row.partition(b":")
        if not found or not name or name != name.strip():
            raise ValueError("its answer is no HTTP")
        headers.append((name.lower(), value.strip(b" \t")))
    return Head(version, int(status), headers)


def read_chunk_size(row: bytes) -> int:
    """How long the chunk after this line is."""
    text = row.split(b";", 1)[0].strip()
    if not text or len(text) > _MAX_CHUNK_DIGITS or text.strip(_HEX_DIGITS):
        raise ValueError("its answer is no HTTP")
    return int(text, 16)


def write_head(method: bytes, target: bytes, headers: list[tuple[bytes, bytes]]) -> bytes:
    """The first lines of a request. Raises `ValueError` for what would end a line early."""
    rows = [b"%b %b HTTP/1.1" % (method, target), *(b"%b: %b" % pair for pair in headers)]
    if any(b"\r" in row or b"\n" in row for row in rows):
        raise ValueError("a header or an address holds a line break")
    return b"\r\n".join((*rows, b"", b""))
