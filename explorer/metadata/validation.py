"""Check whether a value fits the record of its aspect.

Mistakes that would be stored permanently are errors: wrong types, invalid URNs, and missing fields
without which a value is meaningless (whose owner, which column, when). Unknown fields and enum
symbols are accepted and kept, because the sender may use a newer model. Descriptive fields may be
missing, so a schema without a hash or a chart without a title is accepted.
"""

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Any

from explorer.errors import InvalidAspect, InvalidUrn
from explorer.metadata.registry import Record, Registry, places, read_type, urn_fields
from explorer.metadata.urn import Urn

_Check = Callable[[Any], None]

_INT = 2**31
_LONG = 2**63

# Fields that are required by the model but accepted as missing here, by the record's name without
# its package.
_DISPENSABLE: dict[str, frozenset[str]] = {
    "AuditStamp": frozenset({"time", "actor"}),
    "ChartInfo": frozenset({"title", "description", "lastModified"}),
    "CorpGroupInfo": frozenset({"admins", "members", "groups"}),
    "CorpUserInfo": frozenset({"active"}),
    "DashboardInfo": frozenset({"title", "description", "lastModified"}),
    "DatasetFieldUsageCounts": frozenset({"count"}),
    "GlossaryTermInfo": frozenset({"definition", "termSource"}),
    "GlossaryTerms": frozenset({"auditStamp"}),
    "InstitutionalMemoryMetadata": frozenset({"description", "createStamp"}),
    "KafkaSchema": frozenset({"documentSchema"}),
    "SchemaField": frozenset({"nativeDataType", "type"}),
    "SchemaMetadata": frozenset({"schemaName", "platform", "version", "hash", "platformSchema"}),
    "Upstream": frozenset({"type"}),
    "ValueFrequency": frozenset({"value", "frequency"}),
}


def required_fields(full_name: str, record: Record) -> tuple[str, ...]:
    """Return the fields that every value of a record must have, in the record's order."""
    spared = _DISPENSABLE.get(full_name.rpartition(".")[2], frozenset())
    return tuple(
        name for name, field in record.fields.items() if not field.optional and name not in spared
    )


class _Misfit(Exception):
    def __init__(self, problem: str) -> None:
        self.problem = problem
        self.path: list[str] = []


class Validator:
    """Checks values against a registry; the check of each record is built once and cached."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._records: dict[str, _Check] = {}

    def check(self, aspect_name: str, value: Any) -> Sequence[list[Any]]:
        """Return the targets of each relationship of the aspect, as `Aspect.read_targets` does.

        Raises `InvalidAspect`, naming the place in the value, if the value does not fit its record.
        """
        aspect = self._registry.aspect(aspect_name)
        try:
            self._record(aspect.record)(value)
        except _Misfit as misfit:
            path = "".join(reversed(misfit.path)).removeprefix(".")
            raise InvalidAspect(aspect_name, path, misfit.problem) from None
        if not aspect.relationships:
            return ()
        targets_by_relationship = aspect.read_targets(value)
        for relationship, targets in zip(
            aspect.relationships, targets_by_relationship, strict=True
        ):
            for at, target in enumerate(targets):
                problem = self._problem(target, relationship.to)
                if problem:
                    place = list(places(value, relationship.path))[at]
                    raise InvalidAspect(aspect_name, place, problem)
        return targets_by_relationship

    def _problem(self, target: Any, types: tuple[str, ...]) -> str:
        """Return the reason why a value is not the URN of an entity of these types, or an empty
        string if it is one. Entity types that are not in the registry are accepted everywhere."""
        if not isinstance(target, str):
            return f"expected a URN, found {_kind(target)}"
        try:
            entity_type = _read_urn(target).entity_type
        except InvalidUrn as error:
            return f"expected a URN; {error}"
        if not types or entity_type in types or entity_type not in self._registry.entities:
            return ""
        return f"expected the URN of a {' or '.join(types)}, found {target!r:.80}"

    def _record(self, name: str) -> _Check:
        existing = self._records.get(name)
        if existing is not None:
            return existing
        record = self._registry.records.get(name)
        if record is None:
            check: _Check = _anything
        elif record.symbols:
            check = _symbol
        elif not record.fields:
            check = _object
        else:
            check = self._fields(name, record)
        self._records[name] = check
        return check

    def _fields(self, full_name: str, record: Record) -> _Check:
        required = required_fields(full_name, record)
        urns = urn_fields(full_name)
        # A value of exactly this type fits the field; any other value goes through its check.
        exact = {
            name: _EXACT[field.base]
            for name, field in record.fields.items()
            if field.base in _EXACT and name not in urns
        }
        checks: dict[str, _Check] = {}

        def check(value: Any) -> None:
            if not isinstance(value, dict):
                raise _Misfit(f"expected an object, found {_kind(value)}")
            for name in required:
                if value.get(name) is None:
                    raise _Misfit(f"the field '{name}' is required")
            name = ""
            try:
                for name, part in value.items():
                    if part is None or type(part) is exact.get(name):
                        continue
                    inner = checks.get(name)
                    if inner is None:
                        if name not in record.fields:
                            continue
                        inner = checks[name] = self._field(record, name, urns)
                    inner(part)
            except _Misfit as misfit:
                misfit.path.append(f".{name}")
                raise

        return check

    def _field(self, record: Record, name: str, urns: Collection[str]) -> _Check:
        check = self._type(record.fields[name].base)
        if name in urns:
            check = _urns(check)
        if name == "platform" and name in urns:
            check = _platform(check)
        return check

    def _type(self, expression: str) -> _Check:
        kind, arguments = read_type(expression)
        if kind == "name":
            return _SCALARS.get(arguments[0]) or self._record(arguments[0])
        if kind == "array":
            return _array(self._type(arguments[0]))
        if kind == "map":
            return _map(self._type(arguments[0]))
        return _union({name: self._type(name) for name in arguments})


def _anything(value: Any) -> None:
    """Accept any value of a record that is not in the registry."""


def _object(value: Any) -> None:
    if not isinstance(value, dict):
        raise _Misfit(f"expected an object, found {_kind(value)}")


def _symbol(value: Any) -> None:
    if not isinstance(value, str):
        raise _Misfit(f"expected a symbol as a string, found {_kind(value)}")


def _text(value: Any) -> None:
    if not isinstance(value, str):
        raise _Misfit(f"expected a string, found {_kind(value)}")


def _truth(value: Any) -> None:
    if not isinstance(value, bool):
        raise _Misfit(f"expected true or false, found {_kind(value)}")


def _number(value: Any) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _Misfit(f"expected a number, found {_kind(value)}")


def _integer(bound: int) -> _Check:
    def check(value: Any) -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            raise _Misfit(f"expected an integer, found {_kind(value)}")
        if not -bound <= value < bound:
            raise _Misfit(f"expected an integer from {-bound} to {bound - 1}, found {value}")

    return check


_EXACT: dict[str, type] = {"string": str, "bytes": str, "boolean": bool, "double": float}

_SCALARS: dict[str, _Check] = {
    "string": _text,
    "bytes": _text,
    "boolean": _truth,
    "int": _integer(_INT),
    "long": _integer(_LONG),
    "float": _number,
    "double": _number,
}


def _urns(inner: _Check) -> _Check:
    """Return a check that also requires a value to be a URN or a list of URNs."""
    each = _array(_urn)

    def check(value: Any) -> None:
        inner(value)
        if isinstance(value, list):
            each(value)
        else:
            _urn(value)

    return check


@lru_cache(maxsize=8192)
def _read_urn(text: str) -> Urn:
    urn = Urn.parse(text)
    urn.check_characters()
    return urn


def _urn(value: Any) -> None:
    try:
        _read_urn(value)
    except InvalidUrn as error:
        raise _Misfit(f"expected a URN; {error}") from None


def _platform(inner: _Check) -> _Check:
    """Return a check that also requires a value to be the URN of a platform."""

    def check(value: Any) -> None:
        inner(value)
        if Urn.parse(value).entity_type != "dataPlatform":
            raise _Misfit(f"expected the URN of a dataPlatform, found {_kind(value)}")

    return check


def _array(inner: _Check) -> _Check:
    def check(value: Any) -> None:
        if not isinstance(value, list):
            raise _Misfit(f"expected an array, found {_kind(value)}")
        for at, element in enumerate(value):
            try:
                inner(element)
            except _Misfit as misfit:
                misfit.path.append(f"[{at}]")
                raise

    return check


def _map(inner: _Check) -> _Check:
    def check(value: Any) -> None:
        if not isinstance(value, dict):
            raise _Misfit(f"expected a map, found {_kind(value)}")
        for key, element in value.items():
            try:
                inner(element)
            except _Misfit as misfit:
                misfit.path.append(f"[{key!r}]")
                raise

    return check


def _union(checks: dict[str, _Check]) -> _Check:
    members = {name.rpartition(".")[2]: inner for name, inner in checks.items()}

    def check(value: Any) -> None:
        if not isinstance(value, dict) or len(value) != 1:
            raise _Misfit(
                f"expected one of {', '.join(members)} as an object with one key, "
                f"found {_kind(value)}"
            )
        ((name, part),) = value.items()
        inner = checks.get(name) or members.get(name.rpartition(".")[2])
        if inner is None:
            raise _Misfit(f"expected one of {', '.join(members)}, found {name!r}")
        try:
            inner(part)
        except _Misfit as misfit:
            misfit.path.append(f"[{name!r}]")
            raise

    return check


def _kind(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return f"the boolean {str(value).lower()}"
        case str():
            return f"the string {value[:40]!r}"
        case int() | float():
            return f"the number {value}"
        case list():
            return "an array"
        case dict():
            return f"an object with {len(value)} keys"
        case _:
            return type(value).__name__
