"""Checks of proposals against a registry, and their application in a transaction."""

from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import orjson

from explorer.errors import InvalidAspect, InvalidInput, InvalidUrn, NotFound
from explorer.metadata.proposal import Proposal, read_condition
from explorer.metadata.registry import Aspect, Registry, key_value
from explorer.metadata.structured_properties import ASSIGNMENTS, DEFINITION
from explorer.metadata.urn import Urn
from explorer.metadata.validation import Validator
from explorer.server.cache import cached_short
from explorer.server.dialect import Dialect, dialect_of_write
from explorer.server.failures import RequestRefusal
from explorer.server.ingestion_rules import (
    DERIVED,
    UNKNOWN_ACTOR,
    CheckedProposal,
    check_assignments,
    check_definition,
    default_aspects,
    edges_to_store,
    fill_derived,
    keep_descriptions,
    moved_paths,
    require_condition,
)
from explorer.server.store import StoredAspect, StoredEdge, Transaction

if TYPE_CHECKING:
    from explorer.metadata.patch import Patcher

__all__ = ["Intake", "may_need_definition", "named_in", "remove_property_values"]

_PLATFORM = "urn:li:dataPlatform:"
_MAX_MILLIS = 2**62
_MOST_URNS = 1_024
_MOST_DECLARED = 4_096
# The field in which each of these aspects lists the columns.
_COLUMNS = {"schemaMetadata": "fields", "editableSchemaMetadata": "editableSchemaFieldInfo"}

_EDITED_COLUMNS = "editableSchemaMetadata"
_FOLLOWING = DERIVED | {ASSIGNMENTS, DEFINITION, _EDITED_COLUMNS}

Batch = Collection[tuple[str, str]]
"""The aspects that the changes of a batch write, as pairs of URN and aspect name."""


class Intake:
    """The rules of a registry, by which changes are checked and applied."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._validator = Validator(registry)
        # Cached because all aspects of an entity have the same URN, and the same few aspects
        # recur.
        self._key = lru_cache(maxsize=_MOST_URNS)(self._read_key)
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

    def read_urn(self, text: str) -> Urn:
        """Parse a URN, whose entity type may be unknown.

        Raises `InvalidUrn` if the text is not a URN, contains a character that URNs may not
        contain, or does not have the shape of its entity type if that is known.
        """
        urn = Urn.parse(text)
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

        Raises `InvalidUrn` and `UnknownName` as `check_urn` does, `InvalidAspect` if the entity
        type does not have the aspect or the value does not fit the aspect (including a column that
        is listed twice), and `InvalidInput` if the aspect does not accept the change type, or if a
        patch or a condition cannot be parsed.
        """
        urn, name, value = proposal.urn, proposal.aspect, proposal.value
        dialect = dialect_of_write(proposal.system, dialect)
        key = self._key(urn)
        declared = self._declared(urn.entity_type, name)
        if declared.timeseries and proposal.change not in ("UPSERT", "DELETE"):
            raise InvalidInput(f"{name} is a timeseries aspect, which takes UPSERT and DELETE only")
        if proposal.change == "PATCH":
            # Imported here, because most catalogs start, and serve for long, without a patch.
            from explorer.metadata.patch import read_patch

            value = read_patch(value)
        elif proposal.change != "DELETE":
            self._check_value(urn, name, value, key, dialect)
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
        if exists and _follows_stored(change):
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
            value = self._patched(change, stored, now_millis)
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
        if change.aspect == "dataPlatformInfo":
            for urn, paths in moved_paths(transaction, change.urn, value):
                self._put(transaction, _about(change, urn), "browsePaths", paths, now_millis)
        self._put(transaction, change, change.aspect, value, now_millis)

    def apply_all(
        self, transaction: Transaction, changes: Collection[CheckedProposal], now_millis: int
    ) -> None:
        """Apply several changes as one batch: the definitions of structured properties first, then
        the others, each in order. Raises as `apply` does."""
        batch = named_in(changes)
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
        were removed.

        The key aspect stands for the whole entity. Of a timeseries aspect the documents within
        `bounds` are removed: milliseconds since 1970, both inclusive, `None` for an open end.
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

    def _find_declared(self, entity_type: str, name: str) -> Aspect:
        names = self._registry.aspects_of(entity_type)
        if name not in names:
            near = get_close_matches(name, names, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}"
            raise InvalidAspect(name, "", f"Unknown aspect {name} for entity {entity_type}; {hint}")
        return self._registry.aspect(name)

    def _check_value(
        self, urn: Urn, name: str, value: Any, key: Mapping[str, str], dialect: Dialect
    ) -> None:
        self._validator.check(name, value)
        _check_field_paths(name, value)
        declared = self._registry.aspect(name)
        if declared.timeseries and not -_MAX_MILLIS < value["timestampMillis"] < _MAX_MILLIS:
            raise InvalidAspect(name, "timestampMillis", "expected milliseconds since 1970")
        if dialect == "plain" and name == self._registry.entity(urn.entity_type).key:
            _check_key(name, value, key)

    def _may(self, change: CheckedProposal, stored: StoredAspect | None, *, exists: bool) -> bool:
        """Return whether there is something to do.

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

    def _patched(
        self, change: CheckedProposal, stored: StoredAspect | None, now_millis: int
    ) -> Any:
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
        transaction.put(change.write(aspect, value, self.edges(aspect, value), now_millis))


def _follows_stored(change: CheckedProposal) -> bool:
    """Return whether the stored aspect decides if a change is applied, or what it writes."""
    return change.kind != "UPSERT" or change.condition is not None or change.aspect in _FOLLOWING


def named_in(changes: Iterable[CheckedProposal]) -> Batch:
    """Return the aspects that the changes write, as pairs of URN and aspect name."""
    return {(change.text, change.aspect) for change in changes}


def may_need_definition(change: CheckedProposal) -> bool:
    """Return whether a change may depend on a definition of a structured property in its batch.

    As a sort key it puts the definitions first.
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
    left = [one for one in value["properties"] if one.get("propertyUrn") != str(definition)]
    if left != value["properties"]:
        proposal = Proposal(Urn.parse(entity), ASSIGNMENTS, {**value, "properties": left}, actor=by)
        intake.apply(transaction, intake.check(proposal), now_millis)


@cached_short(1 << 20)
def _is_platform(text: str) -> bool:
    try:
        return Urn.parse(text).entity_type == "dataPlatform"
    except InvalidUrn:
        return False


def _about(change: CheckedProposal, urn: Urn) -> CheckedProposal:
    """Return a change of the `browsePaths` of another entity, with the run and the actor of this
    change, which moves that entity."""
    return CheckedProposal(
        urn,
        str(urn),
        "browsePaths",
        "UPSERT",
        None,
        change.declared,
        change.actor,
        change.system,
    )


def _check_field_paths(aspect: str, value: dict[str, Any]) -> None:
    """Raise `InvalidAspect` if a column has no field path, or two have the same one."""
    listed = _COLUMNS.get(aspect)
    seen: set[str] = set()
    for at, column in enumerate(value[listed] if listed else ()):
        path = column["fieldPath"]
        if not path or path in seen:
            wrong = f"the field path {path!r} occurs twice" if path else "the field path is empty"
            raise InvalidAspect(aspect, f"{listed}[{at}].fieldPath", wrong)
        seen.add(path)


def _check_key(aspect: str, value: dict[str, Any], key: Mapping[str, str]) -> None:
    for field, part in key.items():
        if value.get(field) != part:
            raise InvalidAspect(aspect, field, f"expected {part!r}, which is the value in the URN")
