"""Read metadata files: the lists of changes that ingestion writes, in every form in use.

    MCE     {"proposedSnapshot": {"….DatasetSnapshot": {"urn": …, "aspects": […]}}}
    MCP     {"entityUrn": …, "aspectName": …, "aspect": {"value": "…", "contentType": …}}
    MCP     {"entityUrn": …, "aspectName": …, "aspect": {"json": {…}}}
    usage   {"buckets": [{"bucket": …, "resource": …, "metrics": {…}}]}

Files written from Avro name their record types with `.pegasus2avro` and wrap optional values in
one-key objects; both are removed here, as other clients do before they send.

Files are streamed: about one record and one megabyte are in memory at a time.
"""

import gzip
import io
import json
import zlib
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from json import JSONDecodeError
from operator import is_not
from types import GenericAlias
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

import msgspec
import orjson

from explorer.errors import CatalogError, InvalidInput
from explorer.metadata.proposal import Proposal, read_proposal, read_system
from explorer.metadata.registry import Registry, read_type
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_MARK = "pegasus2avro."
_CHUNK: Final = 1 << 20
# Small, because it is decompressed at once, to a thousand times its size and more.
_COMPRESSED_CHUNK: Final = 1 << 10
_LARGEST_RECORD: Final = 64 << 20
_GZIP, _ZSTD, _BYTE_ORDER_MARK = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xef\xbb\xbf"
_SPACE = " \t\r\n"
_EMPTY = "not JSON: it is empty"


@dataclass(frozen=True, slots=True)
class Refused:
    """A record that could not be read: its index in the file, from 0, and the reason."""

    index: int
    reason: str
    urn: str | None = None


class MetadataFile:
    """An iterable of the changes in a file, in order. A record that cannot be read is yielded as
    `Refused`, and reading continues; if the file is truncated or damaged, the last item is a
    `Refused` that says so.

    Accepts a JSON list, concatenated JSON objects and JSON Lines, each also compressed with gzip or
    zstd. The first `skip` records are skipped. Raises `InvalidInput` if the file begins as none of
    these, and `OSError`, at once or during iteration.
    """

    def __init__(self, stream: io.BufferedReader, registry: Registry, *, skip: int = 0) -> None:
        self.record = -1
        """The index of the record that contains the last change, from 0; -1 before the first."""
        self._registry = registry
        self._records = _records(*decompress(stream))
        self._skip = skip

    def __iter__(self) -> Iterator[Proposal | Refused]:
        for index, text in enumerate(self._records):
            if index < self._skip:
                continue
            self.record = index
            if isinstance(text, _Broken):
                yield Refused(index, str(text))
                continue
            record: Any = None
            try:
                wire = _decode_wire(text)
                change = None if wire is None else _read_wire(*wire, text, self._registry)
                if change is not None:
                    yield change
                    continue
                record = orjson.loads(text)
                yield from read_record(record, self._registry, b"" if wire is None else text)
            except orjson.JSONDecodeError as error:
                yield Refused(index, _why_no_json(text, error))
            except CatalogError as error:
                yield Refused(index, str(error), _urn_of(record))


def read_file(data: bytes, registry: Registry) -> Iterator[Proposal | Refused]:
    """Return the changes in the bytes of a file; see `MetadataFile`."""
    return iter(MetadataFile(io.BufferedReader(io.BytesIO(data)), registry))


class _Broken(str):
    """A placeholder for a record that could not be extracted; its text is the reason."""

    __slots__ = ()


def _why_no_json(text: bytes | str, error: orjson.JSONDecodeError) -> str:
    try:
        if isinstance(text, bytes):
            text.decode()
    except UnicodeDecodeError:
        return "not UTF-8: save the file in this encoding"
    return f"not JSON: {error}"


class UntilDamage(io.RawIOBase):
    """A stream of the decompressed bytes of a file, up to the first damage; `damage` is then the
    error."""

    def __init__(self, stream: "gzip.GzipFile | io.BufferedReader") -> None:
        self._stream = stream
        self.damage: Exception | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer).cast("B")
        if self.damage is not None:
            return 0
        try:
            part = self._stream.read1(len(view))
        except Exception as error:
            if not _is_damage(error):
                raise
            self.damage = error
            return 0
        view[: len(part)] = part
        return len(part)


def decompress(stream: io.BufferedReader) -> tuple[BinaryIO, UntilDamage | None]:
    """Return a stream of the decompressed bytes of a file that may be compressed with gzip or zstd,
    and, if it is, the `UntilDamage` that detects damage."""
    start = stream.peek(len(_ZSTD))
    compressed: gzip.GzipFile | io.BufferedReader
    if start.startswith(_GZIP):
        compressed = gzip.GzipFile(fileobj=stream)
    elif start.startswith(_ZSTD):
        compressed = io.BufferedReader(_ZstdReader(stream), _CHUNK)
    else:
        return cast("BinaryIO", stream), None
    raw = UntilDamage(compressed)
    return cast("BinaryIO", io.BufferedReader(raw, _CHUNK)), raw


class _ZstdReader(io.RawIOBase):
    """A stream of the decompressed bytes of a file of zstd frames. Raises `EOFError` at the end of
    a file that was cut off inside a frame, as gzip does; the reader of the library accepts such a
    file as complete."""

    def __init__(self, stream: io.BufferedReader) -> None:
        from zstandard import ZstdDecompressor

        self._stream = stream
        self._decompressor = ZstdDecompressor()
        self._frame = self._decompressor.decompressobj()
        self._is_in_frame = False
        self._rest = memoryview(b"")
        """Decompressed bytes that did not fit into the caller's buffer."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer).cast("B")
        while not self._rest:
            chunk = self._frame.unused_data if self._frame.eof else b""
            chunk = chunk or self._stream.read1(_COMPRESSED_CHUNK)
            if not chunk:
                if self._is_in_frame:
                    raise EOFError("it ends before the end of its last zstd frame")
                return 0
            if self._frame.eof:
                self._frame = self._decompressor.decompressobj()
            self._rest = memoryview(self._frame.decompress(chunk))
            self._is_in_frame = not self._frame.eof
        part, self._rest = self._rest[: len(view)], self._rest[len(view) :]
        view[: len(part)] = part
        return len(part)


def _records(stream: BinaryIO, source: UntilDamage | None) -> Iterator[bytes | str]:
    """Return an iterator over the texts of a file's records. Reads the start of the file at once,
    and raises `InvalidInput` if the file is empty, damaged or not JSON."""
    first = _first_line(stream)
    if not first:
        raise InvalidInput(f"damaged: {_damage(source)}" if _damage(source) else _EMPTY)
    if first.startswith(b"["):
        return _with_damage(_elements(first, stream), source)
    try:
        orjson.loads(first)
    except orjson.JSONDecodeError as error:
        objects = _elements(first, stream, is_list=False)
        record = next(objects, None)
        if record is None or isinstance(record, _Broken):
            damage = _damage(source)
            raise InvalidInput(
                f"damaged: {damage}" if damage else _why_no_json(first, error)
            ) from error
        return _with_damage(chain((record,), objects), source)
    return _with_damage(chain((first,), _lines(stream, source)), source)


def _first_line(stream: BinaryIO) -> bytes:
    """Return the first line that is not blank, or, for a list without line breaks, the first
    megabyte."""
    line = stream.readline(_CHUNK).removeprefix(_BYTE_ORDER_MARK)
    while line and not line.strip():
        line = stream.readline(_CHUNK)
    line = line.lstrip()
    while line and not line.startswith(b"[") and not line.endswith(b"\n"):
        more = stream.readline(_CHUNK)
        if not more or len(line) > _LARGEST_RECORD:
            break
        line += more
    return line


def _damage(source: UntilDamage | None) -> Exception | None:
    return None if source is None else source.damage


def _with_damage(
    records: Iterator[bytes | str], source: UntilDamage | None
) -> Iterator[bytes | str]:
    """Yield the records and, if the file turns out to be damaged, the error as the last item."""
    for record in records:
        # A record that is broken because the file is damaged there is not reported twice.
        if not (isinstance(record, _Broken) and _damage(source)):
            yield record
    if damage := _damage(source):
        yield _Broken(f"the file is damaged from here on: {damage}")


def _is_damage(error: Exception) -> bool:
    """Return whether an error comes from damaged compressed data rather than from the disk."""
    from zstandard import ZstdError

    # gzip raises an `OSError` without an errno for a wrong checksum.
    is_numbered = isinstance(error, OSError) and error.errno is not None
    return isinstance(error, EOFError | OSError | zlib.error | ZstdError) and not is_numbered


def _lines(stream: BinaryIO, source: UntilDamage | None) -> Iterator[bytes]:
    while line := stream.readline(_LARGEST_RECORD):
        is_cut = not line.endswith(b"\n") and _damage(source) is not None
        if (stripped := line.strip()) and not is_cut:
            yield stripped


def _elements(start: bytes, stream: BinaryIO, *, is_list: bool = True) -> Iterator[str]:
    """Yield the texts of a list's elements, or of concatenated JSON values.

    The standard library's parser finds the end of each, because it can parse a value at an offset.
    """
    # Invalid UTF-8 makes only its own record invalid.
    decode = getincrementaldecoder("utf-8")("surrogateescape")
    scan = json.JSONDecoder().raw_decode
    text, at, is_open = decode.decode(start), int(is_list), is_list
    is_first, chunk_size = True, _CHUNK

    def more() -> bool:
        nonlocal text, at
        data = stream.read(chunk_size)
        text, at = text[at:] + decode.decode(data, not data), 0
        return bool(data)

    def skip(letters: str) -> str:
        """Skip white space and return the next character, or an empty string at the end of the
        file."""
        nonlocal at
        while True:
            while at < len(text) and text[at] in letters:
                at += 1
            if at < len(text):
                return text[at]
            if not more():
                return ""

    while True:
        letter = skip(_SPACE)
        if is_open and letter == "]":
            at, is_open = at + 1, False
            if skip(_SPACE):
                yield _Broken(
                    "the file continues after the end of its list, and the rest is not read"
                )
            return
        if letter and is_open and not is_first:
            if letter != ",":
                yield _Broken("the list is damaged here: the rest of the file is not read")
                return
            at += 1
            letter = skip(_SPACE)
        if not letter:
            if is_open:
                yield _Broken("the file ends in the middle of its list")
            return
        is_first = False
        chunk_size = _CHUNK
        while True:
            try:
                _, end = scan(text, at)
            except (JSONDecodeError, RecursionError) as error:
                # The value may be incomplete. Doubling the buffer keeps the total time linear.
                chunk_size = max(len(text) - at, _CHUNK)
                if chunk_size <= _LARGEST_RECORD and more():
                    continue
                why = error.msg if isinstance(error, JSONDecodeError) else "nested too deeply"
                yield _Broken(f"not JSON: {why}; the rest of the file is not read")
                return
            # More digits of a number may follow.
            if end < len(text) or text[at] in '{["' or not more():
                break
        yield text[at:end]
        at = end


def read_record(record: Any, registry: Registry, text: bytes | str = b"") -> list[Proposal]:
    """Return the changes in one record of a file. `text` is its JSON, if a change is to keep it as
    its `line`. Raises `InvalidInput`."""
    match record:
        case {"proposedSnapshot": {**snapshot}} if len(snapshot) == 1:
            ((name, body),) = snapshot.items()
            return _snapshot(str(name), body, record, registry)
        case {"aspectName": _}:
            return [_change(record, registry, text)]
        case {"buckets": [*buckets]}:
            return [_usage(bucket) for bucket in buckets]
        case _:
            keys = ", ".join(record) if isinstance(record, dict) else type(record).__name__
            raise InvalidInput(
                f"expected proposedSnapshot, aspectName or buckets; found {keys or 'nothing'}"
            )


def _urn_of(record: Any) -> str | None:
    match record:
        case {"entityUrn": str(urn)}:
            return urn
        case {"proposedSnapshot": {**snapshot}}:
            for body in snapshot.values():
                if isinstance(body, dict) and isinstance(body.get("urn"), str):
                    return str(body["urn"])
    return None


def _snapshot(name: str, body: Any, record: dict[str, Any], registry: Registry) -> list[Proposal]:
    entity_type = registry.entity_named_by(name)
    match body:
        case {"urn": str(text), "aspects": [*aspects]}:
            urn = Urn.parse(text)
        case _:
            raise InvalidInput(f"{name} needs a urn and a list of aspects")
    if urn.entity_type != entity_type:
        raise InvalidInput(f"{urn} is not a {entity_type}, which its snapshot {name} requires")
    pairs: list[tuple[str, Any]] = []
    for element in aspects:
        if not isinstance(element, dict) or len(element) != 1:
            raise InvalidInput(
                f"an aspect of {urn} must be an object with one key, the name of its record"
            )
        ((record_name, value),) = element.items()
        pairs.append((registry.aspect_named_by(record_name), value))
    # In the specification, a glossary term's snapshot has its ownership next to the aspects.
    for name, value in body.items():
        if name in ("urn", "aspects") or value is None:
            continue
        if name not in registry.aspects_of(entity_type):
            raise InvalidInput(f"{name!r} is neither urn nor aspects nor an aspect of {urn}")
        pairs.append((name, value))
    system = _no_nulls(record.get("systemMetadata"))
    unwrap = _unwrapper(registry).plain
    plain = [(name, unwrap(value, registry.aspect(name).record)) for name, value in pairs]
    return [Proposal(urn, name, value, system=system) for name, value in plain]


def _change(record: dict[str, Any], registry: Registry, text: bytes | str) -> Proposal:
    change = read_proposal(record, registry)
    aspect = registry.aspects.get(change.aspect)
    # The server's registry may have an aspect that this one lacks, so the server decides.
    if aspect is not None and change.value is not None and change.change != "PATCH":
        plain = _unwrapper(registry).plain(change.value, aspect.record)
        if plain is not change.value:
            return replace(change, value=plain)
    if text and record["entityType"] == change.urn.entity_type:
        object.__setattr__(change, "line", _line_of(text))
    return change


def _line_of(text: bytes | str) -> bytes:
    return (text.encode() if isinstance(text, str) else text).strip()


class _Envelope(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    value: str
    content_type: str


class _Wire(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """A record in the form that is sent to the server, with nothing to add or drop, at least
    outside the aspect's value."""

    entity_type: str
    entity_urn: str
    change_type: str
    aspect_name: str
    aspect: _Envelope
    system_metadata: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_WIRE = msgspec.json.Decoder(_Wire)
_JSON = "application/json"
_NOT_DECODED = (msgspec.MsgspecError, ValueError, RecursionError)


def _decode_wire(text: bytes | str) -> tuple[_Wire, dict[str, Any] | None] | None:
    """Return a record in the form that is sent to the server, and its system metadata; `None` if it
    has another form."""
    try:
        wire = _WIRE.decode(text)
        if isinstance(wire.system_metadata, msgspec.UnsetType):
            return wire, None
        system = orjson.loads(memoryview(wire.system_metadata))
    except _NOT_DECODED:
        return None
    return (wire, system) if isinstance(system, dict) and None not in system.values() else None


def _read_wire(
    wire: _Wire, system: dict[str, Any] | None, text: bytes | str, registry: Registry
) -> Proposal | None:
    """Return the change in a record that is sent to the server as it is; `None` if its value may
    have to be converted, or something is wrong with it, which `read_record` then tells. Takes half
    the time of `read_record`."""
    aspect = registry.aspects.get(wire.aspect_name)
    envelope = wire.aspect
    if aspect is None or wire.change_type != "UPSERT" or envelope.content_type != _JSON:
        return None
    decode = _wire_types(registry).decoder(aspect.record)
    try:
        urn = Urn.parse(wire.entity_urn)
        if decode is None or wire.entity_type != urn.entity_type:
            return None
        decode(envelope.value)
        return Proposal.from_line(_line_of(text), urn, wire.aspect_name, read_system(system))
    except (*_NOT_DECODED, CatalogError):
        return None


_PRIMITIVES: dict[str, Any] = {
    "boolean": bool,
    "double": float,
    "float": float,
    "int": int,
    "long": int,
    "string": str,
}


class _WireTypes:
    """The types of values in wire form, for msgspec: a value that can be decoded has no nulls, no
    Avro wrappers and no unknown fields. Fields of recursive types and maps of records are left out,
    so a value that has one cannot be decoded, and `_Unwrapping` decides."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._types = dict(_PRIMITIVES)
        self._decoders: dict[str, Callable[[str], Any] | None] = {}

    def decoder(self, record: str) -> Callable[[str], Any] | None:
        """Return a function that decodes values of a record, `None` if they have no type."""
        if record not in self._decoders:
            wire_type = self._of(record)
            decoder = None if wire_type is None else msgspec.json.Decoder(wire_type).decode
            self._decoders[record] = decoder
        return self._decoders[record]

    def _of(self, expression: str) -> Any:
        if expression not in self._types:
            # Until its type is built, a record leaves out the fields that contain it.
            self._types[expression] = None
            self._types[expression] = self._build(expression)
        return self._types[expression]

    def _build(self, expression: str) -> Any:
        kind, arguments = read_type(expression)
        if kind == "array":
            inner = self._of(arguments[0])
            return None if inner is None else GenericAlias(list, inner)
        if kind == "map":
            return dict[str, str] if arguments == ("string",) else None
        if kind == "union":
            return self._struct({name: name for name in arguments})
        record = self._registry.records.get(expression)
        if record is None:
            return None
        if record.symbols:
            return str
        return self._struct({name: field.base for name, field in record.fields.items()})

    def _struct(self, fields: Mapping[str, str]) -> Any:
        types = {name: self._of(expression) for name, expression in fields.items()}
        names = {f"f{at}": name for at, name in enumerate(types) if types[name] is not None}
        return msgspec.defstruct(
            "WireRecord",
            [(key, types[name] | msgspec.UnsetType, msgspec.UNSET) for key, name in names.items()],
            rename=names,
            forbid_unknown_fields=True,
            gc=False,
        )


# One per registry in use; a process uses few.
@lru_cache(maxsize=4)
def _wire_types(registry: Registry) -> _WireTypes:
    return _WireTypes(registry)


def _no_nulls(system: Any) -> dict[str, Any] | None:
    if not isinstance(system, dict):
        return None
    return {key: value for key, value in system.items() if value is not None}


_Unwrap = Callable[[Any], Any]
_HOLDING = frozenset({dict, list})


class _Unwrapping:
    """Converts values to their wire form: without nulls and without Avro's wrappers and prefixes.
    The converter of each type is built once; a value already in wire form is returned unchanged."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[str, _Unwrap] = {}

    def plain(self, value: Any, expression: str) -> Any:
        """Return the wire form of a value of a type."""
        return self._of(expression)(value)

    def _of(self, expression: str) -> _Unwrap:
        existing = self._known.get(expression)
        if existing is not None:
            return existing
        # Records may be recursive: until the converter is built, inner references look it up.
        self._known[expression] = lambda value: self.plain(value, expression)
        kind, arguments = read_type(expression.removesuffix("?"))
        if kind == "union":
            converter = self._union(is_text="string" in arguments)
        elif kind == "name":
            converter = self._record(arguments[0])
        else:
            converter = (_array if kind == "array" else _map)(self._of(arguments[0]))
        self._known[expression] = converter
        return converter

    def _union(self, *, is_text: bool) -> _Unwrap:
        def work(value: Any) -> Any:
            if isinstance(value, dict) and len(value) == 1:
                ((name, part),) = value.items()
                member = name.replace(_MARK, "")
                plain = self.plain(part, member)
                return value if plain is part and member == name else {member: plain}
            return {"string": value} if is_text and isinstance(value, str) else value

        return work

    def _record(self, name: str) -> _Unwrap:
        record = self._registry.records.get(name)
        fields = record.fields if record else {}
        inner = {key: self._of(field.base) for key, field in fields.items()}
        # An unwrapped string is accepted for a union's string member.
        texts = {key for key, field in fields.items() if read_type(field.base)[0] == "union"}

        def work(value: Any) -> Any:
            if not isinstance(value, dict):
                return value
            if len(value) == 1:
                ((key, part),) = value.items()
                if key.replace(_MARK, "") == name:
                    return self.plain(part, name)
            if None in value.values():
                value = {key: part for key, part in value.items() if part is not None}
            changed = {}
            for key, part in value.items():
                if (type(part) in _HOLDING or key in texts) and key in inner:
                    plain = inner[key](part)
                    if plain is not part:
                        changed[key] = plain
            return {**value, **changed} if changed else value

        return work


def _array(inner: _Unwrap) -> _Unwrap:
    def work(value: Any) -> Any:
        elements = value
        if isinstance(value, dict) and len(value) == 1 and isinstance(value.get("array"), list):
            elements = value["array"]
        if not isinstance(elements, list):
            return value
        plain = [*map(inner, elements)]
        return plain if any(map(is_not, plain, elements)) else elements

    return work


def _map(inner: _Unwrap) -> _Unwrap:
    def work(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        wrapped = value.get("map") if len(value) == 1 else None
        parts = wrapped if isinstance(wrapped, dict) else value
        plain = {key: inner(part) for key, part in parts.items()}
        return plain if any(map(is_not, plain.values(), parts.values())) else parts

    return work


# One per registry in use; a process uses few.
@lru_cache(maxsize=4)
def _unwrapper(registry: Registry) -> _Unwrapping:
    return _Unwrapping(registry)


def _usage(bucket: Any) -> Proposal:
    match bucket:
        case {"bucket": int(start), "resource": str(urn), "metrics": dict(metrics)}:
            value: dict[str, Any] = {
                "timestampMillis": start,
                "eventGranularity": {"unit": bucket.get("duration", "DAY"), "multiple": 1},
            }
        case _:
            raise InvalidInput("a usage bucket needs bucket, resource and metrics")
    for key in ("uniqueUserCount", "totalSqlQueries", "topSqlQueries"):
        if metrics.get(key) is not None:
            value[key] = metrics[key]
    if metrics.get("users"):
        value["userCounts"] = [
            {key: user[key] for key in ("user", "count", "userEmail") if user.get(key) is not None}
            for user in metrics["users"]
        ]
    if metrics.get("fields"):
        value["fieldCounts"] = [
            {"fieldPath": field.get("fieldName"), "count": field.get("count")}
            for field in metrics["fields"]
        ]
    return Proposal(Urn.parse(urn), "datasetUsageStatistics", value)
