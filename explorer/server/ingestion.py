"""Ingestion: checks of proposals against a registry, their application in a transaction, the rules
that they must meet in the store, and the aspects that are written along with them."""

import re
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
import orjson
from msgspec import Struct

from explorer.errors import InvalidAspect, InvalidInput, InvalidUrn, NotFound, UnknownName
from explorer.metadata.browse_paths import join_path, suggested_path
from explorer.metadata.proposal import NO_RUN, ChangeType, Condition, Proposal, read_condition
from explorer.metadata.registry import Aspect, Registry, edges_of, key_value
from explorer.metadata.structured_properties import (
    ASSIGNMENTS,
    DEFINITION,
    Definition,
    check_assignment,
    plain_value,
    read_definition,
)
from explorer.metadata.urn import UNKNOWN_ACTOR, Urn
from explorer.metadata.validation import Validator
from explorer.server.browse import default_delimiter
from explorer.server.cache import cache_short
from explorer.server.dialect import Dialect, dialect_of_write
from explorer.server.failures import RequestRefusal, with_article
from explorer.server.store import (
    Reader,
    StoredAspect,
    StoredEdge,
    TimeseriesDocument,
    Transaction,
    Write,
    is_removed,
    read_object,
    version_of,
)

if TYPE_CHECKING:
    from explorer.metadata.patch import Patcher

_PLATFORM = "urn:li:dataPlatform:"
_MAX_MILLIS = 2**62
_MOST_URNS = 1_024
_MOST_DECLARED = 4_096
# The field in which each of these aspects lists the columns.
_COLUMNS = {"schemaMetadata": "fields", "editableSchemaMetadata": "editableSchemaFieldInfo"}

_EDITED_COLUMNS = "editableSchemaMetadata"
LARGEST_ASPECT = 30_000
"""The maximum number of relationships of an aspect, and of entries in each of its lists: with so
many the writer takes less than a second, and 100 MB."""

Batch = Collection[tuple[str, str]]
"""The aspects that the changes of a batch write, as pairs of URN and aspect name."""


class CheckedProposal(Struct, frozen=True):
    """A proposal that has passed all checks that do not need the store.

    `text` is the URN as a string, `declared` the aspect's definition in the registry, and `checked`
    the value that was checked, with the edges that it declares. The value of a PATCH is a `Patch`,
    which declares none. `dialect` is that of the caller, whose rules apply.
    """

    urn: Urn
    text: str
    aspect: str
    kind: ChangeType
    value: Any
    declared: Aspect
    actor: str
    system: Mapping[str, Any] | None
    condition: Condition | None = None
    dialect: Dialect = "plain"
    checked: tuple[Any, tuple[StoredEdge, ...]] = (None, ())

    def write(
        self, aspect: str, value: Any, edges: tuple[StoredEdge, ...], now_millis: int
    ) -> Write:
        """Return the write of a versioned aspect of the entity, with the run and the actor of the
        change, for the store."""
        system, run = _system(self.system, now_millis)
        return Write(
            self.text,
            self.urn.entity_type,
            aspect,
            _dump(aspect, value),
            now_millis,
            self.actor,
            system,
            run,
            edges,
        )

    def point(self, now_millis: int) -> TimeseriesDocument:
        """Return the document of a timeseries aspect, for the store."""
        system, run = _system(self.system, now_millis)
        return TimeseriesDocument(
            self.text,
            self.urn.entity_type,
            self.aspect,
            self.value["timestampMillis"],
            _series(self.value),
            _dump(self.aspect, self.value),
            now_millis,
            self.actor,
            system,
            run,
        )


class Intake:
    """The rules of a registry, which check and apply changes."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._validator = Validator(registry)
        # Cached because all aspects of an entity have the same URN, and the same few aspects
        # recur.
        self._key = lru_cache(maxsize=_MOST_URNS)(self._read_key)
        self._key_to_write = lru_cache(maxsize=_MOST_URNS)(self._check_key_to_write)
        self._declared = lru_cache(maxsize=_MOST_DECLARED)(self._find_declared)
        self.find_actor: Callable[[], str | None] = lambda: None
        """Returns the URN of the actor of a change that names none, or `None` if it is unknown."""

    @property
    def default_actor(self) -> str:
        """The URN of the actor of a change that names none: the result of `find_actor`, or else
        the unknown actor."""
        return self.find_actor() or UNKNOWN_ACTOR

    def check_urn(self, urn: Urn) -> dict[str, str]:
        """Check a URN and return the value of its key aspect.

        Raises `UnknownName` if the entity type does not exist, and `InvalidUrn` if the URN does not
        have the shape of its entity type, or contains a character that URNs may not contain.
        """
        return dict(self._key(urn))

    def read_urn(self, text: str, entity_type: str | None = None) -> Urn:
        """Parse a URN. If no entity type is given, its entity type may be unknown.

        Raises `InvalidUrn` if the text is not a URN, contains a character that URNs may not
        contain, or does not have the shape of its entity type if that is known; `InvalidInput` if
        it is of another entity type than the given one.
        """
        urn = Urn.parse(text)
        if entity_type not in (None, urn.entity_type):
            raise InvalidInput(f"{urn} is not {with_article(entity_type)}")
        urn.check_characters()
        if urn.entity_type in self._registry.entities:
            self.check_urn(urn)
        return urn

    def check(
        self,
        proposal: Proposal,
        actor: str | None = None,
        dialect: Dialect = "plain",
        otherwise: str | None = None,
    ) -> CheckedProposal:
        """Check a proposal without the store, and return it as a change that can be applied.

        The actor of the change is `actor`, the authenticated caller; else the one that the proposal
        names; else `otherwise`; else `default_actor`.

        DataHub's callers and connectors may write a key aspect that disagrees with the URN, and
        soft-delete an entity that does not exist; plain callers may not.

        Raises `InvalidUrn` and `UnknownName` as `check_urn` does, and `InvalidUrn` if a part of the
        URN must be the URN of another entity and is not, unless the change is a deletion, because
        older releases stored such URNs. Raises `InvalidAspect` if the entity type does not have the
        aspect or the value does not fit the aspect (including a column that is listed twice), and
        `InvalidInput` if the aspect does not accept the change type, or if a patch or a condition
        cannot be parsed.
        """
        urn, name, value = proposal.urn, proposal.aspect, proposal.value
        dialect = dialect_of_write(proposal.system, dialect)
        key = self._key(urn) if proposal.change == "DELETE" else self._key_to_write(urn)
        declared = self._declared(urn.entity_type, name)
        edges: tuple[StoredEdge, ...] = ()
        if declared.timeseries and proposal.change not in ("UPSERT", "DELETE"):
            raise InvalidInput(f"{name} is a timeseries aspect, which takes UPSERT and DELETE only")
        if proposal.change == "PATCH":
            # Imported here, because most catalogs start, and serve for long, without a patch.
            from explorer.metadata.patch import read_patch

            value = read_patch(value)
        elif proposal.change != "DELETE":
            edges = self._check_value(urn, name, value, key, dialect)
        return CheckedProposal(
            urn,
            str(urn),
            name,
            proposal.change,
            value,
            declared,
            actor or proposal.actor or otherwise or self.default_actor,
            proposal.system,
            read_condition(proposal.headers) if proposal.headers else None,
            dialect,
            (value, edges),
        )

    def apply(
        self,
        transaction: Transaction,
        change: CheckedProposal,
        now_millis: int,
        batch: Batch = (),
    ) -> None:
        """Apply a change in a transaction.

        A new entity also gets its key aspect, and the aspects that follow from its URN, except
        those that `batch` (the batch of this change) writes.

        Raises `NotFound` if the change requires an entity that does not exist, and `RequestRefusal`
        if it creates an entity or aspect that exists already, or its condition does not hold. For a
        patch, raises as `Patcher.apply` and `check` do; for structured properties, as
        `check_assignments` and `check_definition` do.
        """
        exists = bool(transaction.existing([change.text]))
        stored = None
        if _follows_stored(change):
            if exists:
                stored = transaction.aspect(change.text, change.aspect)
            if not self._may(change, stored, exists=exists):
                return
        if change.kind == "DELETE":
            if change.aspect == ASSIGNMENTS and stored:
                check_assignments(transaction, change.urn, {}, orjson.loads(stored.value))
            self.remove(
                transaction, change.urn, change.aspect, (None, None), now_millis, change.actor
            )
            return
        value = change.value
        if change.kind == "PATCH":
            value = self._patch(change, stored, now_millis)
            if value is None:
                return
        if change.aspect == ASSIGNMENTS:
            before = orjson.loads(stored.value) if stored else None
            check_assignments(transaction, change.urn, value, before)
        elif change.aspect == DEFINITION:
            before = orjson.loads(stored.value) if stored else None
            check_definition(transaction, change.urn, value, before)
        if not exists:
            removes = change.aspect == "status" and value.get("removed") is True
            if removes and change.dialect == "plain":
                raise NotFound(f"{change.text} does not exist.")
            self._begin(transaction, change, now_millis, batch)
        if change.declared.timeseries:
            transaction.append(change.point(now_millis))
            return
        if stored and change.aspect == _EDITED_COLUMNS and change.kind != "PATCH":
            value = keep_descriptions(orjson.loads(stored.value), value)
        before = orjson.loads(stored.value) if stored and change.aspect in DERIVED else {}
        value = fill_derived(change.aspect, before, value, adds=change.dialect == "datahub")
        former = None
        if change.aspect == "dataPlatformInfo":
            former = _delimiter(transaction, change.urn.name)
        self._put(transaction, change, change.aspect, value, now_millis)
        if former is not None and former != _delimiter(transaction, change.urn.name):
            respelling = Respelling(former, change.actor, change.system)
            respell(transaction, self._registry, change.urn, respelling, now_millis)

    def apply_all(
        self, transaction: Transaction, changes: Collection[CheckedProposal], now_millis: int
    ) -> None:
        """Apply several changes as one batch: the definitions of structured properties first, then
        the others, each in order. Raises as `apply` does."""
        batch = aspects_to_write(changes)
        # Look up all URNs together; the transaction caches the result.
        transaction.existing([change.text for change in changes])
        for change in sorted(changes, key=may_need_definition):
            self.apply(transaction, change, now_millis, batch)

    def remove(
        self,
        transaction: Transaction,
        urn: Urn,
        aspect: str,
        bounds: tuple[int | None, int | None],
        now_millis: int,
        actor: str,
    ) -> tuple[int, int]:
        """Remove an aspect of an entity, and return the number of versions and of documents that
        were removed. If it is the key aspect, remove the whole entity.

        Of a timeseries aspect only the documents within `bounds` are removed: milliseconds since
        1970, both inclusive, `None` for an open end.
        """
        text = str(urn)
        if aspect == self._registry.entity(urn.entity_type).key:
            return transaction.remove_entity(text, aspect, now_millis, actor)
        if self._registry.aspect(aspect).timeseries:
            return 0, transaction.remove_documents(text, aspect, bounds, now_millis, actor)
        return transaction.remove_aspect(text, aspect, now_millis, actor), 0

    def edges(self, aspect: str, value: Any) -> tuple[StoredEdge, ...]:
        """Return the edges that the value of an aspect declares."""
        return edges_to_store(self._registry, aspect, value)

    def _read_key(self, urn: Urn) -> Mapping[str, str]:
        urn.check_characters()
        fields = self._registry.key_fields(urn.entity_type)
        key = key_value(urn, fields)
        platform = key.get("platform")
        if platform is not None and not _is_platform(platform):
            raise InvalidUrn(f"expected {_PLATFORM}<platform> as the platform in {urn}")
        return key

    def _check_key_to_write(self, urn: Urn) -> Mapping[str, str]:
        key = self._key(urn)
        for field, types in self._registry.urns_of_key(urn.entity_type).items():
            try:
                part = Urn.parse(key[field])
                self._key_to_write(part)
            except (InvalidUrn, UnknownName) as error:
                raise InvalidUrn(f"expected a URN as the {field} in {urn}; {error}") from error
            if types and part.entity_type not in types:
                raise InvalidUrn(
                    f"expected the URN of a {' or '.join(types)} as the {field} in {urn}"
                )
        return key

    def _find_declared(self, entity_type: str, name: str) -> Aspect:
        names = self._registry.aspects_of(entity_type)
        if name not in names:
            near = get_close_matches(name, names, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}"
            raise InvalidAspect(name, "", f"Unknown aspect {name} for entity {entity_type}; {hint}")
        return self._registry.aspect(name)

    def _check_value(
        self, urn: Urn, name: str, value: Any, key: Mapping[str, str], dialect: Dialect
    ) -> tuple[StoredEdge, ...]:
        """Check the value of an aspect and return the edges that it declares; raises as `check`
        does."""
        targets = self._validator.check(name, value)
        _check_field_paths(name, value)
        declared = self._registry.aspect(name)
        if declared.timeseries and not -_MAX_MILLIS < value["timestampMillis"] < _MAX_MILLIS:
            raise InvalidAspect(name, "timestampMillis", "expected milliseconds since 1970")
        if dialect == "plain" and name == self._registry.entity(urn.entity_type).key:
            _check_key(name, value, key)
        return _edges(declared, targets) if targets else ()

    def _may(self, change: CheckedProposal, stored: StoredAspect | None, *, exists: bool) -> bool:
        """Return whether a change has to be applied: false if there is nothing to do.

        Raises `NotFound` or `RequestRefusal` if the change must not be applied; see `apply`.
        """
        condition = change.condition
        if condition is not None:
            require_condition(condition, stored)
        dropped = condition is not None and condition.none
        match change.kind:
            case "DELETE" | "UPDATE" if not exists:
                raise NotFound(f"{change.text} does not exist.")
            case "CREATE_ENTITY" if exists and not dropped:
                raise RequestRefusal(
                    422, f"Cannot perform CREATE_ENTITY since {change.text} exists already."
                )
            case "CREATE" if stored and not dropped:
                raise RequestRefusal(422, "Cannot perform CREATE since the aspect already exists.")
            case "CREATE_ENTITY":
                return not exists
            case "CREATE":
                return stored is None
            case _ if dropped and stored:
                raise RequestRefusal(
                    412, f"Expected no {change.aspect} of {change.text}, but there is one"
                )
        return True

    @cached_property
    def _patcher(self) -> "Patcher":
        from explorer.metadata.patch import Patcher

        return Patcher(self._registry)

    def _patch(self, change: CheckedProposal, stored: StoredAspect | None, now_millis: int) -> Any:
        """Return the value with the patch applied, or `None` if the aspect does not exist and the
        patch only removes."""
        stamp = {"time": now_millis, "actor": change.actor}
        name, patch = change.aspect, change.value
        if stored is None and patch.only_removes:
            return None
        start = orjson.loads(stored.value) if stored else self._patcher.start(name, stamp)
        value = self._patcher.apply(name, start, patch, stamp)
        self._check_value(change.urn, name, value, self._key(change.urn), change.dialect)
        return value

    def _begin(
        self, transaction: Transaction, change: CheckedProposal, now_millis: int, batch: Batch
    ) -> None:
        """Write the key aspect and the default aspects of a new entity, except the aspect that the
        change is about to write and the defaults that its batch is about to write."""
        key = self._registry.entity(change.urn.entity_type).key
        if change.aspect != key:
            value = key_value(change.urn, self._registry.key_fields(change.urn.entity_type))
            self._put(transaction, change, key, value, now_millis)
        for aspect, default in default_aspects(self._registry, transaction, change.urn):
            if aspect != change.aspect and (change.text, aspect) not in batch:
                self._put(transaction, change, aspect, default, now_millis)

    def _put(
        self,
        transaction: Transaction,
        change: CheckedProposal,
        aspect: str,
        value: Any,
        now_millis: int,
    ) -> None:
        checked_value, edges = change.checked
        if value is not checked_value:
            edges = self.edges(aspect, value)
        write = change.write(aspect, value, edges, now_millis)
        # An entry takes two bytes or more.
        if len(write.value) > 2 * LARGEST_ASPECT:
            self._check_size(transaction, write, value)
        transaction.put(write)

    def _check_size(self, transaction: Transaction, write: Write, value: Any) -> None:
        """Raise `RequestRefusal` (413) if an aspect has too many entries, unless the stored value,
        which an older release accepted, has at least as many."""
        size = _entries(value, write.edges)
        if size <= LARGEST_ASPECT:
            return
        stored = transaction.aspect(write.urn, write.aspect)
        before = orjson.loads(stored.value) if stored else {}
        if size > _entries(before, self.edges(write.aspect, before)):
            raise RequestRefusal(
                413,
                f"the {write.aspect} of {write.urn} would have a list, or relationships, of "
                f"{size:,} entries; an aspect may have {LARGEST_ASPECT:,}: leave some out",
            )


def _entries(value: Any, edges: Sequence[StoredEdge]) -> int:
    """Return the number of edges of a value, or the length of its longest list or mapping if that
    is larger."""
    most, parts = len(edges), [value]
    while parts:
        part = parts.pop()
        if isinstance(part, dict | list):
            most = max(most, len(part))
            parts += part.values() if isinstance(part, dict) else part
    return most


def _follows_stored(change: CheckedProposal) -> bool:
    """Return whether the stored aspect decides if a change is applied, or which value it writes."""
    return change.kind != "UPSERT" or change.condition is not None or change.aspect in _FOLLOWING


def aspects_to_write(changes: Iterable[CheckedProposal]) -> Batch:
    """Return the aspects that the changes write, as pairs of URN and aspect name."""
    return {(change.text, change.aspect) for change in changes}


def may_need_definition(change: CheckedProposal) -> bool:
    """Return whether a change may depend on a definition of a structured property in its batch:
    false for the definitions themselves.

    As a sort key this puts the definitions first.
    """
    return change.aspect != DEFINITION


def remove_property_values(
    transaction: Transaction, intake: Intake, entity: str, definition: Urn, now_millis: int, by: str
) -> None:
    """Remove all values of a structured property from an entity, if it has any."""
    stored = transaction.aspect(entity, ASSIGNMENTS)
    if stored is None:
        return
    value = orjson.loads(stored.value)
    assignments = [
        assignment
        for assignment in value["properties"]
        if assignment.get("propertyUrn") != str(definition)
    ]
    if assignments != value["properties"]:
        proposal = Proposal(
            Urn.parse(entity), ASSIGNMENTS, {**value, "properties": assignments}, actor=by
        )
        intake.apply(transaction, intake.check(proposal), now_millis)


@cache_short(1 << 20)
def _is_platform(text: str) -> bool:
    try:
        return Urn.parse(text).entity_type == "dataPlatform"
    except InvalidUrn:
        return False


def _check_field_paths(aspect: str, value: dict[str, Any]) -> None:
    """Raise `InvalidAspect` if a column has no field path, or two have the same one."""
    listed = _COLUMNS.get(aspect)
    paths: set[str] = set()
    for at, column in enumerate(value[listed] if listed else ()):
        path = column["fieldPath"]
        if not path or path in paths:
            wrong = f"the field path {path!r} occurs twice" if path else "the field path is empty"
            raise InvalidAspect(aspect, f"{listed}[{at}].fieldPath", wrong)
        paths.add(path)


def _check_key(aspect: str, value: dict[str, Any], key: Mapping[str, str]) -> None:
    for field, part in key.items():
        if value.get(field) != part:
            raise InvalidAspect(aspect, field, f"expected {part!r}, which is the value in the URN")


_FULL_TABLE = "FULL_TABLE_SNAPSHOT"


def edges_to_store(registry: Registry, aspect: str, value: Any) -> tuple[StoredEdge, ...]:
    """Return the edges that the value of an aspect declares."""
    declared = registry.aspect(aspect)
    return _edges(declared, declared.read_targets(value)) if declared.relationships else ()


def _edges(declared: Aspect, targets: Sequence[Sequence[Any]]) -> tuple[StoredEdge, ...]:
    """Return the edges to the targets of each relationship of an aspect."""
    return tuple(
        StoredEdge(
            relationship.name,
            target,
            (2 if relationship.source_is_upstream else 1) if relationship.lineage else 0,
        )
        for relationship, target in edges_of(declared, targets)
    )


def _system(given: Mapping[str, Any] | None, now_millis: int) -> tuple[bytes, str | None]:
    """Return the system metadata as it is stored, and the run id that it names, if any."""
    system = {"lastObserved": now_millis, "runId": NO_RUN, **(given or {})}
    # Only the store sets the version.
    system.pop("version", None)
    run = system["runId"]
    return _dump("systemMetadata", system), run if isinstance(run, str) and run != NO_RUN else None


def _dump(aspect: str, value: Any) -> bytes:
    """Return a value as JSON, in a buffer of exactly its size: orjson's buffer has kilobytes to
    spare, and the writer keeps the values of many aspects."""
    try:
        return bytes(memoryview(orjson.dumps(value)))
    except orjson.JSONEncodeError as error:
        raise InvalidAspect(aspect, "", f"cannot be stored: {error}") from None


def _series(value: Mapping[str, Any]) -> str:
    """Return a text that distinguishes documents of the same time, from their partition,
    granularity and message id; empty if a document has none of these. The end of a run sorts after
    its beginning."""
    partition = (value.get("partitionSpec") or {}).get("partition", _FULL_TABLE)
    granularity = value.get("eventGranularity") or {}
    parts = [
        "" if partition == _FULL_TABLE else partition,
        granularity.get("unit", ""),
        granularity.get("multiple", 1) if granularity else "",
        value.get("messageId") or "",
    ]
    if not any(parts):
        return ""
    series = orjson.dumps(parts).decode()
    return f"~{series}" if value.get("messageId") and value.get("status") == "COMPLETE" else series


_ABSENT = -1


def require_condition(condition: Condition, stored: StoredAspect | None) -> None:
    """Raise `RequestRefusal` (412) unless the stored aspect meets the version and the times of a
    condition; `stored` is `None` if there is no aspect."""
    actual = version_of(stored.system) if stored else _ABSENT
    if condition.version is not None and condition.version != actual:
        raise RequestRefusal(412, f"Expected version {condition.version}, actual version {actual}")
    at = stored.time_millis if stored else None
    since = condition.modified_since_millis
    if since is not None and (at is None or at <= since):
        raise RequestRefusal(412, f"Expected a change after {since}, the last was {_moment(at)}")
    since = condition.unmodified_since_millis
    if since is not None and at is not None and at > since:
        raise RequestRefusal(412, f"Expected no change after {since}, the last was {_moment(at)}")


def _moment(at_millis: int | None) -> str:
    return "never" if at_millis is None else f"at {at_millis} (milliseconds since 1970)"


def keep_descriptions(stored: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    """Return the new value with the stored descriptions of the columns that it does not describe.

    A connector that tags a column sends the whole aspect, without the descriptions that people
    wrote. A description is removed by an explicit empty text.
    """
    descriptions = {
        info["fieldPath"]: info["description"]
        for info in stored["editableSchemaFieldInfo"]
        if info.get("description")
    }
    for info in value["editableSchemaFieldInfo"]:
        if info.get("description") is not None:
            descriptions.pop(info["fieldPath"], None)
    infos = []
    for info in value["editableSchemaFieldInfo"]:
        description = descriptions.pop(info["fieldPath"], None)
        infos.append(info if description is None else {**info, "description": description})
    infos += [{"fieldPath": path, "description": text} for path, text in descriptions.items()]
    return {**value, "editableSchemaFieldInfo": infos}


# Key fields that name a platform, or an entity that names one.
_NAMING = frozenset({"platform", "dashboardTool", "orchestrator", "notebookTool", "flow"})

Default = tuple[str, dict[str, Any]]


def default_aspects(registry: Registry, transaction: Transaction, urn: Urn) -> Iterator[Default]:
    """Yield the default aspects of a new entity, as name and value; only aspects that its entity
    type has."""
    carried = registry.entity(urn.entity_type).aspects
    names_platform = registry.key_fields(urn.entity_type)[0] in _NAMING
    if names_platform and urn.platform and "dataPlatformInstance" in carried:
        yield "dataPlatformInstance", {"platform": _PLATFORM + urn.platform}
    if "browsePaths" in carried:
        path = _path(urn, _delimiter(transaction, urn.platform))
        if path:
            yield "browsePaths", {"paths": [path]}


class Respelling(Struct, frozen=True):
    """A change of the name delimiter of a platform, whose datasets have to be updated.

    `former` is the previous delimiter. Default browse paths that were derived with it are
    rewritten, by the actor and with the system metadata of the change; if `actor` is `None`, none
    are. `token` distinguishes changes.
    """

    former: str
    actor: str | None = None
    system: Mapping[str, Any] | None = None
    token: str = msgspec.field(default_factory=lambda: secrets.token_hex(8))


_RESPELLED = "respelled"
MOVED_AT_ONCE = 50
"""How many entities that have to follow a change are updated in its transaction; if there are more,
they are updated afterwards, in small transactions."""


def datasets_of(platform: str) -> str:
    """Return the prefix of the URNs of a platform's datasets."""
    return f"urn:li:dataset:({platform},"


def read_respellings(view: Reader) -> dict[str, list[Respelling]]:
    """Return the changes of delimiters that the datasets of platforms have not followed yet, by the
    URN of the platform. They are in a note that all services of a store share."""
    return msgspec.json.decode(view.note(_RESPELLED) or "{}", type=dict[str, list[Respelling]])


def note_respellings(transaction: Transaction, respellings: Mapping[str, list[Respelling]]) -> None:
    """Store the changes of delimiters that `read_respellings` returns."""
    note = msgspec.json.encode(respellings).decode() if respellings else None
    transaction.set_note(_RESPELLED, note)


def respell(
    transaction: Transaction,
    registry: Registry,
    platform: Urn,
    respelling: Respelling,
    now_millis: int,
) -> None:
    """Update the default browse paths of the datasets of a platform whose delimiter changed. If
    there are many, note instead that they have to be updated later."""
    prefix = datasets_of(str(platform))
    urns = transaction.urns(prefix=prefix, limit=MOVED_AT_ONCE + 1)
    if len(urns) > MOVED_AT_ONCE:
        respellings = read_respellings(transaction)
        respellings.setdefault(str(platform), []).append(respelling)
        note_respellings(transaction, respellings)
        return
    for text in urns:
        respell_path(transaction, registry, Urn.parse(text), (respelling,), now_millis)


def respell_path(
    transaction: Transaction,
    registry: Registry,
    urn: Urn,
    respellings: Iterable[Respelling],
    now_millis: int,
) -> None:
    """Rewrite the default browse path of a dataset if it was derived with a former delimiter. Paths
    that somebody has written are kept."""
    paths = _load_value(transaction, str(urn), "browsePaths").get("paths")
    now = [_path(urn, _delimiter(transaction, urn.platform))]
    for respelling in respellings:
        if respelling.actor is not None and paths == [_path(urn, respelling.former)] != now:
            value = {"paths": now}
            write = own_write(
                registry, urn, "browsePaths", value, now_millis, respelling.actor, respelling.system
            )
            transaction.put(write)
            return


def _path(urn: Urn, delimiter: str) -> str:
    return join_path(suggested_path(urn, delimiter))


def _delimiter(transaction: Transaction, platform: str | None) -> str:
    stored = transaction.aspect(f"{_PLATFORM}{platform}", "dataPlatformInfo") if platform else None
    declared = _parse_delimiter(orjson.loads(stored.value)) if stored else None
    return declared or default_delimiter(platform)


def _parse_delimiter(info: dict[str, Any]) -> str | None:
    dataset_name_delimiter = info.get("datasetNameDelimiter")
    return (
        dataset_name_delimiter
        if isinstance(dataset_name_delimiter, str) and dataset_name_delimiter
        else None
    )


_OWNERSHIP_TYPE = "urn:li:ownershipType:__system__"
_INCIDENT = "urn:li:incident:"
_SUMMARY = "incidentsSummary"
SUMMARIES = frozenset((_SUMMARY,))
"""The aspects that the service itself writes, derived from the aspects of other entities."""
_SYSTEM_ACTOR = "urn:li:corpuser:__datahub_system"
# The summary of an entity lists the incidents that were written last, at most this many per
# state.
_MOST_INCIDENTS = 100
_Value = Mapping[str, Any]


def fill_derived(
    aspect: str, stored: _Value, value: dict[str, Any], *, adds: bool
) -> dict[str, Any]:
    """Return the value of an aspect with its derived part filled in.

    `ownership` gets `ownerTypes`, the owners by the URN of their ownership type; the two lists of
    `domains` are kept consistent. `stored` is the previous value, empty if there was none. If
    `adds` is false, a derived part is updated only if the value contains it exactly as stored.
    Raises `InvalidAspect` if the value contradicts itself.
    """
    if aspect not in _FILLED:
        return value
    part, fill = _FILLED[aspect]
    is_left = value.get(part) is not None and value[part] == stored.get(part)
    return fill(stored, value) if adds or is_left else value


def _owner_types(_stored: _Value, value: dict[str, Any]) -> dict[str, Any]:
    owners_by_type: dict[str, dict[str, None]] = {}
    for owner in value.get("owners") or ():
        type_urn = (
            owner.get("typeUrn") or f"{_OWNERSHIP_TYPE}{(owner.get('type') or 'NONE').lower()}"
        )
        # DataHub's search interprets a dot as the separator of a nested field.
        owners = owners_by_type.setdefault(type_urn.replace(".", "%2E"), {})
        if owner.get("owner") is not None:
            owners[owner["owner"]] = None
    return {
        **value,
        "ownerTypes": {type_urn: list(owners) for type_urn, owners in owners_by_type.items()},
    }


def _domains(stored: _Value, value: dict[str, Any]) -> dict[str, Any]:
    """Return the value with `domains` and `domainAssociations` consistent.

    If the associations changed, `domains` follows them; if both changed, they must agree, else
    `InvalidAspect` is raised. Otherwise the associations follow `domains`. Associations made by
    propagation are ignored, because they do not name domains of the entity itself.
    """
    domains = dict.fromkeys(value.get("domains") or ())
    associations, before = value.get("domainAssociations"), stored.get("domainAssociations")
    if associations is not None and associations != before:
        domain_urns = list(
            dict.fromkeys(
                association["domain"]
                for association in associations
                if not _is_propagated(association)
            )
        )
        if set(domain_urns) != domains.keys() and value.get("domains") != stored.get("domains"):
            raise InvalidAspect(
                "domains", "domainAssociations", "they name other domains than 'domains' does"
            )
        return {**value, "domains": domain_urns}
    # The stored value may be older than the model, and lack required fields.
    remaining_associations = [
        association
        for association in before or ()
        if association.get("domain") in domains or _is_propagated(association)
    ]
    present = {
        association.get("domain")
        for association in remaining_associations
        if not _is_propagated(association)
    }
    added = [{"domain": domain} for domain in domains if domain not in present]
    return {**value, "domainAssociations": [*remaining_associations, *added]}


def _is_propagated(association: _Value) -> bool:
    detail = (association.get("attribution") or {}).get("sourceDetail") or {}
    return str(detail.get("propagated")).lower() == "true"


# By aspect: the derived part, and the function that fills it in.
_FILLED: Mapping[str, tuple[str, Callable[[_Value, dict[str, Any]], dict[str, Any]]]] = {
    "ownership": ("ownerTypes", _owner_types),
    "domains": ("domainAssociations", _domains),
}
DERIVED = frozenset(_FILLED)
"""The aspects with a derived part; see `fill_derived`."""
# Aspects for which the stored value decides if a change is applied, or which value it writes.
_FOLLOWING = DERIVED | {ASSIGNMENTS, DEFINITION, _EDITED_COLUMNS}


_LEFT_INCIDENTS = "incidents"


def read_pending_incidents(view: Reader) -> list[list[str]]:
    """Return the incidents whose entities still need an updated summary, each with a token of the
    change that left it. They are in a note that all services of a store share."""
    pending: list[list[str]] = orjson.loads(view.note(_LEFT_INCIDENTS) or "[]")
    return pending


def note_pending_incidents(transaction: Transaction, pending: Sequence[Sequence[str]]) -> None:
    """Store the incidents that `read_pending_incidents` returns."""
    transaction.set_note(_LEFT_INCIDENTS, orjson.dumps(pending).decode() if pending else None)


def summarise_incidents(transaction: Transaction, registry: Registry, now_millis: int) -> bool:
    """Update the `incidentsSummary` of entities with the incidents that a transaction has written
    or removed. An incident of many entities is noted for later instead; return whether one was."""
    pending: list[list[str]] = []
    for text in sorted(urn for urn in transaction.changes.touched if urn.startswith(_INCIDENT)):
        entities = entities_of_incident(transaction, text)
        if len(entities) > MOVED_AT_ONCE:
            pending.append([text, secrets.token_hex(8)])
        else:
            summarise_incident(transaction, registry, text, entities, now_millis)
    if pending:
        note_pending_incidents(transaction, [*read_pending_incidents(transaction), *pending])
    return bool(pending)


def entities_of_incident(view: Reader, incident: str) -> list[str]:
    """Return the entities that an incident is about, and those whose summary names it."""
    about = _load_value(view, incident, "incidentInfo").get("entities") or ()
    _, pointing = view.edges([incident], "INCOMING")
    listed = sorted({neighbour.urn for neighbour in pointing if _SUMMARY in neighbour.aspects})
    return list(dict.fromkeys((*listed, *about)))


def summarise_incident(
    transaction: Transaction,
    registry: Registry,
    incident: str,
    entities: Iterable[str],
    now_millis: int,
) -> None:
    """Update the `incidentsSummary` of some entities with an incident.

    An incident that was removed, or is no longer about an entity, is removed from the entity's
    summary. An entity that does not exist gets no summary.
    """
    info = _load_value(transaction, incident, "incidentInfo")
    about = set(info.get("entities") or ())
    for entity in entities:
        urn = Urn.parse(entity)
        entity_type = registry.entities.get(urn.entity_type)
        if entity_type is None or _SUMMARY not in registry.aspects_of(urn.entity_type):
            continue
        if transaction.existing([entity]):
            details = _incident_details(incident, info) if entity in about else None
            state = _state(info) if details else ""
            _summarise(transaction, registry, urn, (incident, state, details), now_millis)


def _load_value(view: Reader, urn: str, aspect: str) -> dict[str, Any]:
    """Return the value of an aspect; an empty dictionary if there is none, or it is damaged."""
    stored = view.aspect(urn, aspect)
    return read_object(stored.value if stored else None)


def _state(info: _Value) -> str:
    return str((info.get("status") or {}).get("state"))


def _incident_details(urn: str, info: _Value) -> dict[str, Any]:
    kind = info.get("type")
    changed = (info.get("status") or {}).get("lastUpdated") or {}
    details = {
        "urn": urn,
        "type": info.get("customType") or kind if kind == "CUSTOM" else kind,
        "createdAt": (info.get("created") or {}).get("time"),
        "resolvedAt": changed.get("time") if _state(info) == "RESOLVED" else None,
        "priority": info.get("priority"),
    }
    return {key: value for key, value in details.items() if value is not None}


def _summarise(
    transaction: Transaction,
    registry: Registry,
    entity: Urn,
    incident: tuple[str, str, dict[str, Any] | None],
    now_millis: int,
) -> None:
    """Add an incident to the summary of an entity, under its state, or remove it.

    `incident` is its URN, its state, and its details, `None` to remove it.
    """
    text, state, details = incident
    before = _load_value(transaction, str(entity), _SUMMARY)
    value = dict(before)
    for name, now in (("active", "ACTIVE"), ("resolved", "RESOLVED")):
        # The lists of bare URNs come from older releases of DataHub; nothing is added to them.
        bare, full = f"{name}Incidents", f"{name}IncidentDetails"
        value[bare] = [urn for urn in before.get(bare) or () if urn != text]
        entries = before.get(full) or []
        if details is None or state != now:
            value[full] = [entry for entry in entries if entry.get("urn") != text]
        elif details not in entries:
            other_entries = [entry for entry in entries if entry.get("urn") != text]
            value[full] = [*other_entries, details][-_MOST_INCIDENTS:]
        else:
            value[full] = entries
    if value == before or (not before and details is None):
        return
    transaction.put(own_write(registry, entity, _SUMMARY, value, now_millis, _SYSTEM_ACTOR))


def own_write(
    registry: Registry,
    urn: Urn,
    aspect: str,
    value: _Value,
    now_millis: int,
    actor: str,
    given: Mapping[str, Any] | None = None,
) -> Write:
    """Return the write of an aspect that the service itself changes. It belongs to no run, unless
    `given` is the system metadata of a change that it follows."""
    system, run = _system(given, now_millis)
    edges = edges_to_store(registry, aspect, value)
    stored = orjson.dumps(value)
    return Write(str(urn), urn.entity_type, aspect, stored, now_millis, actor, system, run, edges)


_PROPERTY = "structuredProperty"
# A UTC time as digits, such as 20261231235959.
_VERSION = re.compile(r"\d{14}", re.ASCII)


def check_definition(
    transaction: Transaction, urn: Urn, value: _Value, stored: _Value | None
) -> None:
    """Check a definition of a structured property against the stored one.

    The rules are those of DataHub's `PropertyDefinitionValidator`: the qualified name must not
    change. Unless the version is raised, the value type must not change, MULTIPLE must not become
    SINGLE, and allowed values must not be removed.

    Raises `InvalidAspect` if the definition breaks these rules or has an invalid `version`, or if
    the property is soft-deleted.
    """
    if stored is not None and _is_removed(transaction, str(urn)):
        raise InvalidAspect(
            DEFINITION,
            "",
            f"the structured property {urn.name} was removed; restore it (status removed=false) "
            "before its definition is changed",
        )
    version = value.get("version")
    if version is not None and not _VERSION.fullmatch(version):
        raise InvalidAspect(
            DEFINITION, "version", f"expected 14 digits, such as 20261231235959, found {version!r}"
        )
    if stored is None:
        return
    if value.get("qualifiedName") != stored.get("qualifiedName"):
        raise InvalidAspect(
            DEFINITION,
            "qualifiedName",
            f"the qualified name {stored.get('qualifiedName')!r} cannot be changed; define another "
            "property",
        )
    before = stored.get("version")
    if version is not None and (before is None or version > before):
        return
    for field, problem in _find_restrictions(value, stored):
        raise InvalidAspect(
            DEFINITION,
            field,
            f"{problem}, because values that were valid before may become invalid; to change it "
            f"anyway, give a version later than {before or 'none'}",
        )


def _find_restrictions(value: _Value, stored: _Value) -> Iterator[tuple[str, str]]:
    """Yield the fields in which a definition allows less than the stored one, each with a
    description of the problem."""
    if value.get("valueType") != stored.get("valueType"):
        yield "valueType", f"the value type cannot be changed from {stored.get('valueType')}"
    if stored.get("cardinality") == "MULTIPLE" and value.get("cardinality") != "MULTIPLE":
        yield "cardinality", "the cardinality cannot be changed from MULTIPLE to SINGLE"
    if value.get("allowedValues") is None:
        return
    now = [plain_value(allowance.get("value")) for allowance in value["allowedValues"]]
    if stored.get("allowedValues") is None:
        yield "allowedValues", "a property that allows all values cannot be restricted to some"
    for stored_allowance in stored.get("allowedValues") or ():
        allowed_value = plain_value(stored_allowance.get("value"))
        if allowed_value not in now:
            yield "allowedValues", f"the allowed value {allowed_value!r} cannot be removed"


def check_assignments(
    transaction: Transaction, entity: Urn, value: _Value, stored: _Value | None
) -> None:
    """Check that an entity may have these structured properties.

    Properties that stay as they are `stored` are accepted, so that a definition that has since
    changed or been removed does not prevent a write of the others. The values of an immutable
    property can be neither changed nor removed.

    Raises `InvalidAspect` if a property is listed twice, has no definition, or has values that its
    definition does not allow for the entity, or if an immutable one would change.
    """
    before = dict(_assignments(stored)) if stored else {}
    urns: set[str] = set()
    for at, (text, values) in enumerate(_assignments(value)):
        path = f"properties[{at}]"
        if text in urns:
            raise InvalidAspect(
                ASSIGNMENTS, path, f"{text} occurs twice; send all its values in one entry"
            )
        urns.add(text)
        if before.get(text) == values:
            continue
        definition = _require_definition(transaction, text, path)
        if text in before and definition.is_immutable:
            raise _unchangeable(definition, path)
        check_assignment(definition, entity, _platform(transaction, entity), values, path)
    for text in before.keys() - urns:
        for urn in Urn.parse_all((text,)):
            former_definition = _find_definition(transaction, urn)
            if former_definition is not None and former_definition.is_immutable:
                raise _unchangeable(former_definition, "properties")


def _assignments(value: _Value) -> Iterator[tuple[str, list[Any]]]:
    """Yield the URN of each property with its values, unwrapped if they are wrapped."""
    for assignment in value.get("properties") or ():
        values = [plain_value(value) for value in assignment.get("values") or ()]
        yield str(assignment.get("propertyUrn")), values


def _require_definition(transaction: Transaction, text: str, path: str) -> Definition:
    place = f"{path}.propertyUrn"
    try:
        urn = Urn.parse(text)
    except InvalidUrn as error:
        raise InvalidAspect(ASSIGNMENTS, place, f"expected a URN; {error}") from None
    if urn.entity_type != _PROPERTY:
        raise InvalidAspect(
            ASSIGNMENTS, place, f"expected urn:li:{_PROPERTY}:<id>, found {text!r:.80}"
        )
    definition = _find_definition(transaction, urn)
    if definition is not None:
        return definition
    if _is_removed(transaction, text):
        problem = "was removed; restore it (status removed=false) or leave it out"
    else:
        problem = "has no definition; write its propertyDefinition first or leave it out"
    raise InvalidAspect(ASSIGNMENTS, place, f"the structured property {urn.name} {problem}")


def _is_removed(transaction: Transaction, urn: str) -> bool:
    return is_removed(transaction.aspects([urn], ("status",)).get(urn, ()))


def _find_definition(transaction: Transaction, urn: Urn) -> Definition | None:
    aspects = transaction.aspects([str(urn)]).get(str(urn), ())
    return read_definition(urn, {aspect.name: orjson.loads(aspect.value) for aspect in aspects})


def _platform(transaction: Transaction, entity: Urn) -> str | None:
    """Return the platform of an entity: from its URN, else from its `dataPlatformInstance`."""
    if entity.platform:
        return entity.platform
    stored = transaction.aspect(str(entity), "dataPlatformInstance")
    platform = orjson.loads(stored.value).get("platform") if stored else None
    return Urn.label(platform) if isinstance(platform, str) else None


def _unchangeable(definition: Definition, path: str) -> InvalidAspect:
    return InvalidAspect(
        ASSIGNMENTS,
        path,
        f"the structured property {definition.urn.name} is immutable: a stored value cannot be "
        "changed; send the value that is stored",
    )
