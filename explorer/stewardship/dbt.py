"""Exchanging descriptions, tags and owners with the properties files (`schema.yml`) of a dbt
project.

`read_project` reads a project, `match` finds the dataset of each of its resources, `entries_of`
returns its descriptions as the entries that `compare` takes, and `plan` returns the changes that
the catalog's descriptions make to its files. Nothing is written before `ProjectPlan.write`.

DataHub's connector creates two datasets for a resource, both named `database.schema.name`: one on
the platform dbt, and one on the warehouse's platform. The one on dbt has the descriptions. The
names are known from `target/manifest.json`. Without it, a dataset is matched if it is the only one
with the resource's name. All other resources are reported and not changed.

The description of a resource without properties is written where dbt-osmosis would put it: at the
path that `+dbt-osmosis` sets in `dbt_project.yml`; without such a rule in the only file of its
folder that describes several models, or in `_{model}.yml` next to the model. It is not written
while a properties file of the project cannot be read, because that file may describe the resource.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from explorer.errors import Conflict, InvalidInput, StorageFault
from explorer.files import replace_file
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.stewardship.changeset import Changeset, compare, stage_changes
from explorer.stewardship.dbt_project import (
    DbtResource,
    Project,
    Properties,
    ResourceType,
    contains_jinja,
    escape_jinja,
    read_file,
    strings_in,
)
from explorer.stewardship.documentation import (
    ASPECTS,
    Entry,
    Progress,
    Row,
    digest_of,
    read_datasets,
    rows_of,
)
from explorer.stewardship.staging import StagedEdit, TextSource
from explorer.stewardship.yaml_document import Path as Place
from explorer.stewardship.yaml_document import Quoted, Value, YamlDocument, is_writable, load

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity

Property = Literal["description", "tags", "owner"]

_SECTION_OF: Final[dict[ResourceType, str]] = {
    "model": "models",
    "seed": "seeds",
    "snapshot": "snapshots",
}
_DBT: Final = "dbt"
_LABEL_TYPES: Final[Mapping[Property, tuple[str, ...]]] = {
    "description": (),
    "tags": ("tag",),
    "owner": ("corpuser", "corpGroup"),
}
_OWNERSHIP: Final = "TECHNICAL_OWNER"
_TAG_PREFIX: Final = "dbt:"
"""The prefix that DataHub's connector gives dbt's tags, unless its recipe sets another."""


# The datasets of resources.


@dataclass(frozen=True, slots=True)
class Datasets:
    """The datasets of a resource: the one with its descriptions, and those of the same table on
    other platforms."""

    primary: Urn
    siblings: tuple[Urn, ...] = ()

    @property
    def all(self) -> tuple[Urn, ...]:
        """All of them, the primary one first."""
        return (self.primary, *self.siblings)


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A resource without a known dataset: there is none, or there are several `candidates`."""

    resource: DbtResource
    why: str
    candidates: tuple[Urn, ...] = ()


@dataclass(frozen=True, slots=True)
class Matches:
    """The datasets of the resources of a project, and the resources without one."""

    found: tuple[tuple[DbtResource, Datasets], ...]
    unmatched: tuple[Unmatched, ...]

    @property
    def urns(self) -> tuple[Urn, ...]:
        """All matched datasets, without duplicates."""
        return tuple(dict.fromkeys(urn for _, datasets in self.found for urn in datasets.all))


def match(resources: Iterable[DbtResource], urns: Iterable[Urn]) -> Matches:
    """Match resources to the datasets among `urns`, ignoring case.

    A dataset on the platform dbt takes precedence over those on warehouses, which become its
    siblings. If several match, or a dataset matches several resources, none is chosen.
    """
    by_last: dict[str, list[Urn]] = {}
    for urn in urns:
        by_last.setdefault(_name(urn).rpartition(".")[2], []).append(urn)
    matches: list[tuple[DbtResource, Datasets]] = []
    unmatched: list[Unmatched] = []
    for resource in resources:
        if resource.problem:
            unmatched.append(Unmatched(resource, resource.problem))
            continue
        candidates = _candidates(resource, by_last)
        datasets = _datasets(candidates)
        if datasets is not None:
            matches.append((resource, datasets))
        elif candidates:
            why = "several datasets match; choose one with --filter or a URN"
            unmatched.append(Unmatched(resource, why, candidates))
        else:
            unmatched.append(Unmatched(resource, f"there is no dataset {resource.names[0]}"))
    claims: dict[Urn, list[DbtResource]] = {}
    for resource, datasets in matches:
        claims.setdefault(datasets.primary, []).append(resource)
    unique_matches = []
    for resource, datasets in matches:
        rivals = claims[datasets.primary]
        best = max(map(_precision, rivals))
        winners = [rival for rival in rivals if _precision(rival) == best]
        if winners == [resource]:
            unique_matches.append((resource, datasets))
        else:
            rival_names = ", ".join(
                f"{rival.kind} {rival.name}" for rival in rivals if rival != resource
            )
            why = f"its dataset also matches {rival_names}"
            candidates = datasets.all if resource in winners else ()
            unmatched.append(Unmatched(resource, why, candidates))
    return Matches(tuple(unique_matches), tuple(unmatched))


def _precision(resource: DbtResource) -> tuple[bool, int]:
    return resource.exact, resource.names[0].count(".")


def _name(urn: Urn) -> str:
    return urn.parts[1].casefold() if len(urn.parts) > 1 else urn.name.casefold()


def _candidates(resource: DbtResource, by_last: Mapping[str, Sequence[Urn]]) -> tuple[Urn, ...]:
    urns: dict[Urn, None] = {}
    for full in resource.names:
        name = full.casefold()
        for urn in by_last.get(name.rpartition(".")[2], ()):
            dataset_name = _name(urn)
            # A complete name may follow a platform instance; a partial name could match others.
            is_whole = not resource.exact or name.count(".") > 1
            if dataset_name == name or (is_whole and dataset_name.endswith(f".{name}")):
                urns[urn] = None
        if urns:
            break
    return tuple(urns)


def _datasets(candidates: Sequence[Urn]) -> Datasets | None:
    on_dbt = [urn for urn in candidates if urn.platform == _DBT]
    urns = [urn for urn in candidates if urn.platform != _DBT]
    if len(on_dbt) == 1:
        primary = on_dbt[0]
        name = _name(primary)
        same = [
            urn
            for urn in urns
            if urn.origin == primary.origin
            and (
                _name(urn) == name
                or f".{name}".endswith(f".{_name(urn)}")
                or f".{_name(urn)}".endswith(f".{name}")
            )
        ]
        return Datasets(primary, tuple(same))
    if not on_dbt and len(urns) == 1:
        return Datasets(urns[0])
    return None


# The changes that the catalog's texts make to a project.

UpdateKind = Literal["new", "changed", "unchanged", "conflict", "template", "shared", "unwritable"]
UPDATE_KINDS: Final[tuple[UpdateKind, ...]] = get_args(UpdateKind)
"""The kinds of updates.

`new`         the project has no value there
`changed`     the project has another value, the one that was ingested
`unchanged`   the project has the same value
`conflict`    the project has another value, which the catalog does not know
`template`    the description calls `doc` or contains other Jinja, and is never replaced
`shared`      a YAML anchor shares the place with others, which would change as well
`unwritable`  the place or the text cannot be written
"""


@dataclass(frozen=True, slots=True)
class Update:
    """The update that a description, the tags or the owners in the catalog make to the project.

    `before` is the present value in the project, `after` the planned one. `file` is relative to the
    project; `column` is `None` for the resource itself.
    """

    file: str
    resource: str
    column: str | None
    property: Property
    kind: UpdateKind
    before: str
    after: str
    urn: str
    why: str | None = None


@dataclass(frozen=True, slots=True)
class FileUpdate:
    """A file to write: its present content, `None` if it does not exist, and its new content."""

    name: str
    before: bytes | None
    after: bytes


@dataclass(frozen=True, slots=True)
class ProjectPlan:
    """The changes that the catalog makes to a dbt project.

    `updates` has all values of the catalog for the project's resources, in the project's order;
    `files` are the files that change. `unmatched` are resources without a dataset.
    """

    root: Path
    updates: tuple[Update, ...]
    files: tuple[FileUpdate, ...]
    unmatched: tuple[Unmatched, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()

    @property
    def writes(self) -> tuple[Update, ...]:
        """The updates that change the project."""
        return tuple(update for update in self.updates if update.kind in ("new", "changed"))

    @property
    def left_out(self) -> tuple[Update, ...]:
        """The updates that are not written, without the unchanged ones."""
        kinds = ("conflict", "template", "shared", "unwritable")
        return tuple(update for update in self.updates if update.kind in kinds)

    def counts(self) -> dict[UpdateKind, int]:
        """Return the number of updates of each kind that occurs."""
        counts = Counter(update.kind for update in self.updates)
        return {kind: counts[kind] for kind in UPDATE_KINDS if counts[kind]}

    def write(self) -> None:
        """Write the files one by one, each atomically and with its permissions kept.

        Raises `Conflict` if a file changed since it was read, or became a link out of the project,
        `StorageFault` if one cannot be written. Files before the failed one are written then.
        """
        for file in self.files:
            path = self.root / file.name
            if not _is_inside(self.root, file.name):
                raise Conflict(f"{path} is a link out of the project by now, and is left alone")
            now = read_file(path) if path.exists() else None
            if now != file.before:
                raise Conflict(
                    f"{path} was changed since it was read, and is left alone; read it again"
                )
            _write_file(path, file.after)


def _write_file(path: Path, data: bytes) -> None:
    # Resolved, so that a symbolic link is kept and its target is replaced.
    path = path.resolve()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data, mode=None)
    except OSError as error:
        raise StorageFault(f"{path} cannot be written: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class Held:
    """The catalog's values for one dataset: its rows by field path, and its owners."""

    rows: Mapping[str, Row]
    owners: tuple[str, ...] = ()

    @classmethod
    def of(cls, entity: "Entity") -> "Held":
        """Return the values of an entity."""
        return cls(
            {row.column: row for row in rows_of(entity)},
            tuple(dict.fromkeys(owner.owner for owner in entity.owners)),
        )

    def column(self, name: str) -> Row | None:
        """Return the row for a column of the project.

        Returns the row with the same field path, or else the only one that matches without types,
        or else without types and ignoring case.
        """
        if name in self.rows:
            return self.rows[name] if name else None
        paths = {path: FieldPath(path).simple for path in self.rows if path}
        exact = [path for path, simple in paths.items() if simple == name]
        folded = [path for path, simple in paths.items() if simple.casefold() == name.casefold()]
        for paths_of_name in (exact, folded):
            if len(paths_of_name) == 1:
                return self.rows[paths_of_name[0]]
        return None


@dataclass(slots=True)
class _Operation:
    """A change of one value in a file, made in the text and in the parsed value, and the numbers of
    its updates."""

    updates: list[int]
    place: Place
    key: str
    value: Value
    extends: bool = False
    after: tuple[str, ...] = ()

    def change_text(self, document: YamlDocument, *, is_quoted: bool) -> None:
        place, key, value = self._target(lambda path: document.find(path) is not None)
        value = _quote(value) if is_quoted else value
        if self.extends and isinstance(value, list):
            document.extend(place, key, value)
        elif isinstance(value, str):
            document.set_text(place, key, value, after=self.after)
        else:
            document.insert(place, key, value, after=self.after)

    def change_value(self, root: Any) -> None:
        node = root
        steps: Place = (*self.place, *self.key.split("."))
        key = steps[-1]
        for at, step in enumerate(steps[:-1]):
            if isinstance(step, str) and at >= len(self.place) and not node.get(step):
                node[step] = {}
            node = node[step]
        if self.extends and isinstance(self.value, list):
            node[key] = [*(node.get(key) or ()), *self.value]
        else:
            node[key] = self.value

    def _target(self, is_there: Callable[[Place], bool]) -> tuple[Place, str, Value]:
        """Return the innermost mapping that exists, the key in it, and the value wrapped in the
        missing mappings."""
        place, (*names, key) = self.place, self.key.split(".")
        while names and is_there((*place, names[0])):
            place = (*place, names.pop(0))
        value = self.value
        for name in reversed([*names[1:], key] if names else []):
            value = {name: value}
        return place, names[0] if names else key, value


def _quote(value: Value) -> Value:
    """Return a value in which texts that end with a line end are quoted."""
    if isinstance(value, str):
        return Quoted(value) if value.endswith("\n") else value
    if isinstance(value, Mapping):
        return {key: _quote(element) for key, element in value.items()}
    return [_quote(element) for element in value]


def _solve(text: str, operations: Sequence[_Operation]) -> tuple[str, list[tuple[_Operation, str]]]:
    """Apply the operations that can be applied to a text; return the text, and the other operations
    with the reasons."""
    if not operations:
        return text, []
    try:
        changed = _apply_operations(text, operations)
    except (AttributeError, KeyError, IndexError, TypeError):
        why = "the file has an unexpected structure there"
    except InvalidInput as error:
        why = str(error)
    else:
        return changed, []
    if len(operations) == 1:
        return text, [(operations[0], why)]
    half = len(operations) // 2
    text, refused = _solve(text, operations[:half])
    text, refused_later = _solve(text, operations[half:])
    return text, refused + refused_later


_BLOCK: Final = re.compile(r"[|>][0-9+]*[ \t]*(?:#[^\r\n]*)?[\r\n]")
"""The beginning of a block scalar that keeps its final line end."""


def _apply_operations(text: str, operations: Sequence[_Operation]) -> str:
    """Return the text with all operations applied.

    The result is parsed again. Raises `InvalidInput` if it does not have exactly the intended
    value.
    """
    expected = load(text)
    expected = {} if expected is None else expected
    for operation in operations:
        operation.change_value(expected)
    candidate: str | None = None
    for is_quoted in (False, True):
        document = YamlDocument(text)
        for operation in operations:
            operation.change_text(document, is_quoted=is_quoted)
        changed = document.render()
        if load(changed) != expected:
            continue
        if not _BLOCK.search(changed) or load(changed.strip()) == expected:
            return changed
        candidate = candidate or changed
    # dbt strips the files it reads, so a block at the end of a file loses its final line end, which
    # is accepted only if it was so before.
    if candidate is None or load(text.strip()) == load(text):
        raise InvalidInput("it cannot be written there without changing something else")
    return candidate


def plan(
    project: Project,
    matches: Matches,
    values_by_urn: Mapping[Urn, Held],
    *,
    properties: Iterable[Property] = ("description",),
    force_conflicts: bool = False,
) -> ProjectPlan:
    """Return the changes that the catalog's values make to a dbt project. Looks for files; no
    requests.

    Only edited values are used, not ingested ones. A description in the project is replaced if it
    equals the ingested one, or with `force_conflicts` in any case, but never if it is a template.
    Tags are added and never removed; an owner is set if there is none.
    """
    planner = _Planner(
        project, values_by_urn, frozenset(properties), force_conflicts=force_conflicts
    )
    for resource, datasets in matches.found:
        planner.add(resource, datasets)
    updates, files = planner.result()
    return ProjectPlan(project.root, updates, files, matches.unmatched, project.problems)


_OF_ALL_VERSIONS: Final = "it belongs to all versions of the model, and would change for all"


def _columns(
    resource: DbtResource, datasets: Sequence[Held]
) -> Iterator[tuple[str, Properties | None, Sequence[Row]]]:
    """Yield the columns of the project with their rows, then those that only the catalog has."""
    keys: set[str] = set()
    for name, column in resource.columns.items():
        rows = [row for dataset in datasets if (row := dataset.column(name)) is not None]
        keys.update(FieldPath(row.column).simple.casefold() for row in rows)
        yield name, column, rows
    rows_by_key: dict[str, list[Row]] = {}
    for dataset_values in datasets:
        for path, row in dataset_values.rows.items():
            simple = FieldPath(path).simple
            if path and simple.casefold() not in keys:
                rows_by_key.setdefault(simple.casefold(), []).append(row)
    for rows in rows_by_key.values():
        yield FieldPath(rows[0].column).simple, None, rows


@dataclass(slots=True)
class _Target:
    """A resource or one of its columns, with the values of the project and of the catalog.

    If the project does not contain it yet (`is_new`), its values are collected in `entry`, and the
    numbers of their updates in `added`.
    """

    resource: DbtResource
    column: str | None
    file: str
    urn: str
    project_values: Properties
    rows: Sequence[Row]
    is_new: bool
    entry: dict[str, Value]
    added: list[int] = field(default_factory=list)

    def update(self, name: Property, before: str, after: str) -> Update:
        """Return an update of kind `unchanged` with these values."""
        return Update(
            self.file, self.resource.name, self.column, name, "unchanged", before, after, self.urn
        )


class _Planner:
    def __init__(
        self,
        project: Project,
        values_by_urn: Mapping[Urn, Held],
        properties: frozenset[Property],
        *,
        force_conflicts: bool,
    ) -> None:
        self._project = project
        self._values_by_urn = values_by_urn
        self._properties = properties
        self._forces = force_conflicts
        self._updates: list[Update] = []
        self._operations: dict[str, list[_Operation]] = {}
        self._inherited: dict[tuple[str, Place], list[_Operation]] = {}
        self._heirs = Counter(
            (resource.file, column.place)
            for resource in project.resources
            for column in resource.columns.values()
            if column.inherited
        )

    def add(self, resource: DbtResource, datasets: Datasets) -> None:
        """Plan all updates for one resource."""
        present_values = [
            self._values_by_urn[urn] for urn in datasets.all if urn in self._values_by_urn
        ]
        urn = str(datasets.primary)
        try:
            file = resource.file or _new_file(self._project, resource)
        except InvalidInput as error:
            self._refuse(resource, urn, present_values, str(error))
            return
        is_new = resource.file is None
        rows = [dataset.rows[""] for dataset in present_values if "" in dataset.rows]
        # A version gets its own description; that of all versions is not changed.
        properties = replace(resource.own, place=resource.place)
        target = _Target(
            resource, None, file, urn, properties, rows, is_new, {"name": resource.name}
        )
        self._describe(target)
        self._tag(target)
        self._set_owner(
            target,
            tuple(dict.fromkeys(owner for dataset in present_values for owner in dataset.owners)),
        )
        columns: list[Value] = []
        added: list[int] = []
        for name, properties_of_column, column_rows in _columns(resource, present_values):
            column = _Target(
                resource,
                name,
                file,
                urn,
                properties_of_column or Properties(()),
                column_rows,
                properties_of_column is None,
                {"name": name},
            )
            self._describe(column)
            self._tag(column)
            if column.added:
                columns.append(column.entry)
                added += column.added
        if is_new and (columns or target.added):
            entry = {**target.entry, **({"columns": columns} if columns else {})}
            section = _SECTION_OF[resource.kind]
            numbers = [*target.added, *added]
            self._operate(file, _Operation(numbers, (), section, [entry], extends=True))
        elif columns:
            self._operate(file, _Operation(added, resource.place, "columns", columns, extends=True))

    def _describe(self, target: _Target) -> None:
        texts = tuple(dict.fromkeys(row.edited for row in target.rows if row.edited))
        if not texts or "description" not in self._properties:
            return
        update = self._description_update(target, texts)
        at = self._note(update)
        if update.kind not in ("new", "changed"):
            return
        text = escape_jinja(update.after)
        if target.is_new:
            target.entry["description"] = text
            target.added.append(at)
            return
        operation = _Operation(
            [at], target.project_values.place, "description", text, after=("name", "v")
        )
        if target.project_values.inherited and target.column is not None:
            place = target.file, target.project_values.place
            self._inherited.setdefault(place, []).append(operation)
        else:
            self._operate(target.file, operation)

    def _description_update(self, target: _Target, texts: Sequence[str]) -> Update:
        properties, text = target.project_values, texts[0]
        now = properties.text if properties.text is not None else properties.raw
        update = target.update("description", now, text)
        if properties.problem:
            return replace(update, kind="unwritable", why=properties.problem)
        if len(texts) > 1:
            why = "its datasets have different texts; choose one with --filter or its URN"
            return replace(update, kind="conflict", why=why)
        if text == now:
            return update
        if properties.is_template:
            why = "the description is a template; change the text that it refers to"
            return replace(update, kind="template", before=properties.raw, why=why)
        if not is_writable(text):
            why = "it contains unpaired surrogates, which cannot be written to a file"
            return replace(update, kind="unwritable", why=why)
        if not now:
            return replace(update, kind="new")
        if not self._forces and not any(_same(now, row.ingested) for row in target.rows):
            why = "the project has a text that the catalog does not know of"
            return replace(update, kind="conflict", why=why)
        return replace(update, kind="changed")

    def _tag(self, target: _Target) -> None:
        tags = dict.fromkeys(_tag_name(tag) for row in target.rows for tag in row.tags)
        if not tags or "tags" not in self._properties:
            return
        properties = target.project_values
        missing = [tag for tag in tags if tag not in properties.tags]
        update = target.update(
            "tags", ", ".join(properties.tags), ", ".join((*properties.tags, *missing))
        )
        if missing and not all(map(_is_plain, missing)):
            update = replace(update, kind="unwritable", why="a tag contains Jinja")
        elif missing and properties.inherited and target.column is not None:
            update = replace(update, kind="shared", why=_OF_ALL_VERSIONS)
        elif missing:
            update = replace(update, kind="changed" if properties.tags else "new")
        at = self._note(update)
        if update.kind not in ("new", "changed"):
            return
        is_resource = target.column is None and target.resource.kind != "source"
        key = properties.tags_key or ("config.tags" if is_resource else "tags")
        self._set(target, at, key, list(missing))

    def _set_owner(self, target: _Target, owners: Sequence[str]) -> None:
        if not owners or "owner" not in self._properties:
            return
        properties, names = target.project_values, [_owner_name(owner) for owner in owners]
        now = [properties.owner] if isinstance(properties.owner, str) else list(properties.owner)
        missing = [_owner_name(owner) for owner in owners if owner not in properties.owner_urns]
        update = target.update("owner", ", ".join(now), ", ".join((*now, *missing)))
        value: Value = names[0] if len(names) == 1 else names
        if missing and not all(map(_is_plain, missing)):
            update = replace(update, kind="unwritable", why="an owner contains Jinja")
        elif missing and isinstance(properties.owner, str):
            forced = self._forces and len(names) == 1
            update = replace(
                update,
                kind="changed" if forced else "conflict",
                after=", ".join(names),
                why=None if forced else "the project has another owner",
            )
        elif missing:
            update = replace(update, kind="changed" if now else "new")
            value = list(missing) if now else value
        at = self._note(update)
        if update.kind in ("new", "changed"):
            meta = properties.meta_key or (
                "meta" if target.resource.kind == "source" else "config.meta"
            )
            self._set(target, at, f"{meta}.owner", value, extends=not isinstance(value, str))

    def _set(
        self, target: _Target, at: int, key: str, value: Value, *, extends: bool = True
    ) -> None:
        """Set a dotted key of a target to a value, or with `extends` add the value to its list."""
        if not target.is_new:
            after = ("name", "v", "description")
            self._operate(
                target.file,
                _Operation(
                    [at], target.project_values.place, key, value, extends=extends, after=after
                ),
            )
            return
        target.added.append(at)
        *names, last = key.split(".")
        mapping: dict[str, Any] = target.entry
        for name in names:
            mapping = mapping.setdefault(name, {})
        mapping[last] = value

    def _note(self, update: Update) -> int:
        self._updates.append(update)
        return len(self._updates) - 1

    def _operate(self, file: str, operation: _Operation) -> None:
        self._operations.setdefault(file, []).append(operation)

    def _refuse(self, resource: DbtResource, urn: str, datasets: Sequence[Held], why: str) -> None:
        """Record the descriptions of a resource for which no file can be found as `unwritable`."""
        places: list[tuple[str | None, Sequence[Row]]] = [
            (None, [dataset.rows[""] for dataset in datasets if "" in dataset.rows])
        ]
        places += [(name, rows) for name, _, rows in _columns(resource, datasets)]
        for column, rows in places:
            text = next((row.edited for row in rows if row.edited), "")
            if text and "description" in self._properties:
                file = resource.code or ""
                properties = Properties(())
                target = _Target(
                    resource, column, file, urn, properties, rows, is_new=True, entry={}
                )
                update = target.update("description", "", text)
                self._note(replace(update, kind="unwritable", why=why))

    def result(self) -> tuple[tuple[Update, ...], tuple[FileUpdate, ...]]:
        """Return the updates, marking those that cannot be written, and the files to write."""
        self._settle_inherited()
        files: list[FileUpdate] = []
        for file, operations in self._operations.items():
            if not _is_inside(self._project.root, file):
                for operation in operations:
                    self._mark(operation, "unwritable", f"{file} is a link out of the project")
                continue
            before = self._project.files.get(file)
            text = before.decode() if before is not None else _empty_file(operations)
            # Owners after tags, because both may be in a mapping that does not exist yet.
            firsts = [operation for operation in operations if not operation.key.endswith(".owner")]
            owners = [operation for operation in operations if operation.key.endswith(".owner")]
            changed, refused = _solve(text, _group(firsts))
            changed, refused_owners = _solve(changed, owners)
            refused += refused_owners
            for operation, why in refused:
                if self._is_shared(text, operation):
                    self._mark(operation, "shared", "a YAML anchor shares it with another place")
                else:
                    self._mark(operation, "unwritable", why)
            data = changed.encode()
            if data != before and len(refused) < len(operations):
                files.append(FileUpdate(file, before, data))
        return tuple(self._updates), tuple(sorted(files, key=lambda file: file.name))

    def _settle_inherited(self) -> None:
        """Change a value that all versions of a model inherit only if it changes equally for all of
        them."""
        for (file, place), operations in self._inherited.items():
            first = operations[0]
            agree = all(operation.value == first.value for operation in operations)
            if agree and len(operations) == self._heirs[file, place]:
                numbers = [at for operation in operations for at in operation.updates]
                self._operate(file, replace(first, updates=numbers))
                continue
            for operation in operations:
                self._mark(operation, "shared", _OF_ALL_VERSIONS)

    def _mark(self, operation: _Operation, kind: UpdateKind, why: str) -> None:
        for at in operation.updates:
            self._updates[at] = replace(self._updates[at], kind=kind, why=why)

    @staticmethod
    def _is_shared(text: str, operation: _Operation) -> bool:
        try:
            document = YamlDocument(text)
        except InvalidInput:
            return False
        return document.is_shared((*operation.place, *operation.key.split(".")))


def _group(operations: Sequence[_Operation]) -> list[_Operation]:
    """Merge operations that extend the same list."""
    operations_by_place: dict[tuple[Place, str], _Operation] = {}
    for operation in operations:
        place = operation.place, operation.key
        if operation.extends and place in operations_by_place and isinstance(operation.value, list):
            first = operations_by_place[place]
            values = [*first.value, *operation.value]
            operations_by_place[place] = replace(
                first, updates=first.updates + operation.updates, value=values
            )
        else:
            operations_by_place[place] = operation
    return list(operations_by_place.values())


def _empty_file(operations: Sequence[_Operation]) -> str:
    return f"version: 2\n\n{operations[0].key}:\n"


def _same(text: str, other: str) -> bool:
    return text == other or text.replace("\r\n", "\n") == other.replace("\r\n", "\n")


def _is_plain(text: str) -> bool:
    return is_writable(text) and not contains_jinja(text)


def _tag_name(urn: str) -> str:
    return urn.removeprefix("urn:li:tag:").removeprefix(_TAG_PREFIX)


def _owner_name(urn: str) -> str:
    return urn.removeprefix("urn:li:corpuser:")


# Where dbt-osmosis puts properties.

_RULES: Final = ("+dbt-osmosis", "dbt-osmosis", "+dbt_osmosis", "dbt_osmosis")


def _new_file(project: Project, resource: DbtResource) -> str:
    if resource.code is None:
        raise InvalidInput("it is not in a file of the project")
    # Any properties file may describe any model, and dbt refuses one that is described twice.
    unread = [file for file, _ in project.problems if file.endswith((".yml", ".yaml"))]
    if unread:
        raise InvalidInput(
            f"{unread[0]} cannot be read and may describe it; correct that file first"
        )
    code = PurePosixPath(resource.code)
    rule = _rule(project, resource, code)
    if rule is None:
        return _file_of_folder(project, resource, code)
    node = {**resource.manifest, "name": resource.name, "resource_type": resource.kind}
    fqn = strings_in(node.get("fqn")) or _fqn(project, resource, code)
    node["fqn"] = _by_position(fqn)
    node["tags"] = _by_position(strings_in(node.get("tags")))
    try:
        path = rule.format(node=_DbtField(node), model=resource.name, parent=code.parent.name)
    except (KeyError, AttributeError, IndexError, ValueError, TypeError):
        raise InvalidInput(f"the path “{rule}” of dbt-osmosis needs target/manifest.json") from None
    folder = PurePosixPath(project.paths("model")[0]) if path.startswith("/") else code.parent
    path = path.lstrip("/")
    if not path.endswith((".yml", ".yaml")):
        path += ".yml"
    file = os.path.normpath(folder / path)
    if not _is_inside(project.root, file):
        raise InvalidInput(f"the path “{rule}” of dbt-osmosis is outside the project")
    if (project.root / file).exists() and file not in project.files:
        raise InvalidInput(f"{file} exists and cannot be read as a properties file")
    return PurePosixPath(file).as_posix()


def _is_inside(root: Path, file: str) -> bool:
    """Return whether a file is in the project, also after symbolic links are followed."""
    return (root / file).resolve().is_relative_to(root.resolve())


def _by_position(values: Sequence[str]) -> dict[str, str]:
    """Return values by their position, and by the negative position from the end, as dbt-osmosis
    does."""
    values_by_position = {str(at): value for at, value in enumerate(values)}
    return values_by_position | {str(at - len(values)): value for at, value in enumerate(values)}


class _DbtField:
    """The fields of a node that a dbt-osmosis path can use, with dots or brackets; exposes no
    methods."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__values = values

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def __getitem__(self, name: str | int) -> Any:
        value = self.__values[str(name)]
        return _DbtField(value) if isinstance(value, Mapping) else str(value)


def _fqn(project: Project, resource: DbtResource, code: PurePosixPath) -> tuple[str, ...]:
    for folder in project.paths(resource.kind):
        if code.is_relative_to(folder):
            return (project.name, *code.relative_to(folder).parent.parts, resource.name)
    return (project.name, resource.name)


def _rule(project: Project, resource: DbtResource, code: PurePosixPath) -> str | None:
    """Return the dbt-osmosis path for a resource: from the manifest, else from `dbt_project.yml`.

    In `dbt_project.yml` the rule of the innermost folder applies.
    """
    config = resource.manifest.get("config")
    for name in _RULES:
        if isinstance(config, dict) and isinstance(config.get(name), str):
            return str(config[name])
    rule: str | None = None
    level: Any = project.config.get(_SECTION_OF[resource.kind])
    steps = iter(_fqn(project, resource, code))
    while isinstance(level, dict):
        rule = next((str(level[name]) for name in _RULES if name in level), rule)
        level = level.get(next(steps, None))
    return rule


def _file_of_folder(project: Project, resource: DbtResource, code: PurePosixPath) -> str:
    section = _SECTION_OF[resource.kind]
    names_by_file: dict[str, list[str]] = {}
    for described_resource in project.resources:
        if (
            described_resource.file is not None
            and _SECTION_OF.get(described_resource.kind) == section
        ):
            names_by_file.setdefault(described_resource.file, []).append(described_resource.name)
    beside = [
        file
        for file, names in names_by_file.items()
        if PurePosixPath(file).parent == code.parent
        and (len(names) > 1 or PurePosixPath(file).stem.strip("_") != names[0])
    ]
    if len(beside) == 1:
        return beside[0]
    file = str(code.parent / f"_{resource.name}.yml")
    if (project.root / file).exists() and file not in project.files:
        raise InvalidInput(f"{file} exists and cannot be read as a properties file")
    return file


# The changes that a project's texts make to the catalog.


@dataclass(frozen=True, slots=True)
class ProjectLabel:
    """A tag or an owner in the project that the catalog lacks.

    `label` is its URN, for the dataset `urn` or its column with this field path.
    """

    file: str
    resource: str
    property: Property
    urn: str
    column: str | None
    label: str


@dataclass(frozen=True, slots=True)
class ProjectChanges:
    """The changes that a project makes to the catalog: descriptions, labels to add, and unmatched
    resources."""

    changeset: Changeset
    labels: tuple[ProjectLabel, ...]
    unmatched: tuple[Unmatched, ...]
    problems: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ProjectEdits:
    """The changes that a project makes to the catalog, as edits to stage.

    `unknown` are labels that do not exist in the catalog and are therefore not added.
    """

    edits: tuple[StagedEdit, ...]
    unknown: tuple[ProjectLabel, ...] = ()


def stage_project(
    changes: ProjectChanges, called: Mapping[str, str], *, force_conflicts: bool = False
) -> ProjectEdits:
    """Return the edits that write a project's changes to the catalog. No requests.

    Conflicts are included only with `force_conflicts`, and then replace the present text. `called`
    has the name of each label that exists, by URN.
    """
    to_apply = changes.changeset.to_apply(force_conflicts=force_conflicts)
    edits = stage_changes(
        replace(change, base=change.theirs) if change.kind == "conflict" else change
        for change in to_apply
    )
    labels_by_place: dict[tuple[str, str | None, Property], list[ProjectLabel]] = {}
    unknown_labels = []
    for label in changes.labels:
        if label.label in called:
            labels_by_place.setdefault((label.urn, label.column, label.property), []).append(label)
        else:
            unknown_labels.append(label)
    return ProjectEdits(
        (*edits, *(_label_edit(labels, called) for labels in labels_by_place.values())),
        (*unknown_labels,),
    )


def _label_edit(labels: Sequence[ProjectLabel], called: Mapping[str, str]) -> StagedEdit:
    """Return the edit that adds labels of one kind to one dataset or column."""
    first = labels[0]
    urns = dict.fromkeys(label.label for label in labels)
    is_tags = first.property == "tags"
    return StagedEdit(
        first.urn,
        first.resource,
        first.column,
        what="tags" if is_tags else "owners",
        add=tuple(urn if is_tags else f"{urn} {_OWNERSHIP}" for urn in urns),
        sources=(TextSource("file"),),
        label_names={urn: called[urn] for urn in urns},
    )


def entries_of(matches: Matches, values_by_urn: Mapping[Urn, Held]) -> Iterator[Entry]:
    """Yield an entry for each description in a project, as `compare` takes them.

    A description that was ingested, or that people wrote for any of the resource's datasets, counts
    as not edited.
    """
    for resource, datasets in matches.found:
        resource_values = {urn: values_by_urn[urn] for urn in datasets.all if urn in values_by_urn}
        if resource.file is None or not resource_values:
            continue
        rows = {urn: dataset.rows.get("") for urn, dataset in resource_values.items()}
        yield from _entries(resource, "", resource.own, datasets, rows)
        for name, column in resource.columns.items():
            yield from _entries(
                resource,
                name,
                column,
                datasets,
                {u: dataset.column(name) for u, dataset in resource_values.items()},
            )


def _entries(
    resource: DbtResource,
    column: str,
    present: Properties,
    datasets: Datasets,
    rows: Mapping[Urn, Row | None],
) -> Iterator[Entry]:
    if not present.raw and not present.problem:
        return
    place = f"{resource.file} {resource.name}{f'.{column}' if column else ''}"
    present_rows = {urn: row for urn, row in rows.items() if row is not None}
    urn, row = next(iter(present_rows.items()), (datasets.primary, None))
    line = Row(str(urn), resource.name, row.column if row else column, "", "", present.text or "")
    problem = present.problem
    if present.text is None:
        problem = f"its text is not known: {present.raw}; run dbt parse to write it to the manifest"
    texts = {text for row in present_rows.values() for text in (row.ingested, row.edited)}
    if any(_same(line.edited, text) for text in texts):
        line = replace(line, exported=digest_of(line.edited))
    if line.edited or problem:
        yield Entry(place, line, problem=problem)


def labels_of(
    matches: Matches, values_by_urn: Mapping[Urn, Held], properties: Iterable[Property]
) -> Iterator[ProjectLabel]:
    """Yield the tags and owners in a project that none of a resource's datasets has.

    A tag matches under its own name and under that of DataHub's connector, `dbt:NAME`. Values with
    Jinja are skipped.
    """
    chosen = frozenset(properties)
    for resource, datasets in matches.found:
        resource_values = {urn: values_by_urn[urn] for urn in datasets.all if urn in values_by_urn}
        if resource.file is None or not resource_values:
            continue
        if "tags" in chosen:
            rows = {urn: dataset.rows.get("") for urn, dataset in resource_values.items()}
            yield from _tags_to_add(resource, resource.own, rows)
            for name, column in resource.columns.items():
                rows = {urn: dataset.column(name) for urn, dataset in resource_values.items()}
                yield from _tags_to_add(resource, column, rows)
        if "owner" in chosen:
            owners = {owner for dataset in resource_values.values() for owner in dataset.owners}
            urn = str(next(iter(resource_values)))
            for user in resource.own.owner_urns:
                if user not in owners and _is_plain(user):
                    yield ProjectLabel(resource.file, resource.name, "owner", urn, None, user)


def _tags_to_add(
    resource: DbtResource, present: Properties, rows: Mapping[Urn, Row | None]
) -> Iterator[ProjectLabel]:
    present_rows = {urn: row for urn, row in rows.items() if row is not None}
    tags = {_tag_name(tag) for row in present_rows.values() for tag in row.tags}
    for urn, row in islice(present_rows.items(), 1):
        for tag in present.tags:
            if tag and tag not in tags and _is_plain(tag):
                label = f"urn:li:tag:{tag}"
                column = row.column or None
                file = resource.file or ""
                yield ProjectLabel(file, resource.name, "tags", str(urn), column, label)


# Functions that read from a catalog.


async def read_plan(
    catalog: "AsyncCatalog",
    project: Project,
    urns: Sequence[Urn],
    *,
    properties: Iterable[Property] = ("description",),
    force_conflicts: bool = False,
    progress: Progress | None = None,
) -> ProjectPlan:
    """Return the changes that the catalog's values for the datasets among `urns` make to a project.

    Costs the requests of `AsyncCatalog.entities` for the datasets that belong to the project.
    """
    matches = match(project.resources, urns)
    values_by_urn = await read_held(catalog, matches.urns, progress)
    return plan(
        project, matches, values_by_urn, properties=properties, force_conflicts=force_conflicts
    )


async def read_project_changes(
    catalog: "AsyncCatalog",
    project: Project,
    urns: Sequence[Urn],
    *,
    properties: Iterable[Property] = ("description",),
    progress: Progress | None = None,
) -> ProjectChanges:
    """Return the changes that a project makes to the datasets among `urns`.

    These are its descriptions, and tags and owners if they are in `properties`. Costs the requests
    of `AsyncCatalog.entities` for the datasets that belong to the project.
    """
    matches = match(project.resources, urns)
    aspects = (*ASPECTS, "ownership")
    datasets = read_datasets(catalog, matches.urns, aspects, progress)
    entities = {entity.urn: entity async for entity in datasets}
    values_by_urn = {urn: Held.of(entity) for urn, entity in entities.items()}
    changes = compare(tuple(entries_of(matches, values_by_urn)), entities)
    labels = tuple(labels_of(matches, values_by_urn, properties))
    return ProjectChanges(changes, labels, matches.unmatched, project.problems)


async def read_project_edits(
    catalog: "AsyncCatalog", changes: ProjectChanges, *, force_conflicts: bool = False
) -> ProjectEdits:
    """Return the changes of a project as edits to stage; see `stage_project`.

    Costs the requests of `AsyncCatalog.summaries` for the labels to add.
    """
    labels = {label.label for label in changes.labels if _is_fit(label)}
    entities = await catalog.summaries(sorted(labels)) if labels else {}
    names_by_urn = {str(urn): entity.name for urn, entity in entities.items() if entity.exists}
    return stage_project(changes, names_by_urn, force_conflicts=force_conflicts)


def _is_fit(label: ProjectLabel) -> bool:
    """Return whether the URN of a label is of the right type: a tag's or an owner's."""
    try:
        return Urn.parse(label.label).entity_type in _LABEL_TYPES[label.property]
    except InvalidInput:
        return False


async def read_held(
    catalog: "AsyncCatalog", urns: Sequence[Urn], progress: Progress | None = None
) -> dict[Urn, Held]:
    """Return the catalog's values for the datasets among `urns` that exist.

    Costs the requests of `AsyncCatalog.entities`.
    """
    return {
        entity.urn: Held.of(entity)
        async for entity in read_datasets(catalog, urns, (*ASPECTS, "ownership"), progress)
    }
