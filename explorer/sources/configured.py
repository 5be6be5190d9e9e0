"""Configured sources and their runs, stored in the catalog as DataHub's entities for ingestion
sources and runs.

`dataHubIngestionSource` contains the location of a source, as a recipe without secrets, and the
URNs of its last run, from which the next run determines what has disappeared. Each run is a
`dataHubExecutionRequest` with its result, its counts, and the drift: how the tables changed since
the run before. Descriptions of columns that were probably renamed can be carried over.
"""

import base64
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal

import orjson

from explorer.client import Catalog
from explorer.client.editable import TextConflict
from explorer.client.entity import Entity
from explorer.client.journal import one_save
from explorer.errors import InvalidInput, UnknownName
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.sources.duckdb_file import IN_MEMORY
from explorer.sources.source import Source, SourceOptions
from explorer.stewardship.feed import likely_columns
from explorer.version import __version__

OPTIONS: Final[Mapping[str, str]] = {
    "env": "env",
    "instance": "instance",
    "schemas": "schemas",
    "dialect": "dialect",
    "stats": "profile",
    "values": "values",
    "keyring": "keyring",
    "encoding": "encoding",
    "patterns": "patterns",
}
"""The fields of `SourceOptions`, by the names that people give them."""

_SOURCE: Final = "dataHubIngestionSource"
_RUN: Final = "dataHubExecutionRequest"
_INFO: Final = "dataHubIngestionSourceInfo"
_INPUT: Final = "dataHubExecutionRequestInput"
_RESULT: Final = "dataHubExecutionRequestResult"
_EXECUTOR: Final = "catalog"
_STATE: Final = "state"
_SWITCHES: Final = ("profile", "values", "keyring")
_NAME: Final = re.compile(r"[\w][\w.-]{0,99}", re.ASCII)
_MOST_REPORT: Final = 100_000
_MOST_CHANGES: Final = 1_000


def check_name(name: str) -> None:
    """Raise `InvalidInput` if a text is not a valid source name."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"{name!r} cannot be the name of a source; use letters, digits, '.', '_' and '-' (at "
            "most 100), and give the name with --name"
        )


def name_from(text: str) -> str:
    """Return a valid source name for a text, with dashes in place of invalid characters."""
    return re.sub(r"[^\w.-]+", "-", text, flags=re.ASCII).strip("-.")[:100] or "source"


@dataclass(frozen=True, slots=True)
class SeenEntity:
    """What a run wrote for an entity: its aspects, a checksum of its measured values, and in
    `given` its labels, such as owners and tags, each prefixed by its aspect. `own` has the labels
    that the entity has only because of this source, without labels that people added before, or
    removed and added again."""

    aspects: tuple[str, ...] = ()
    measured: int | None = None
    given: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SeenState:
    """The entities of a source's last run by URN, and those of earlier runs that have disappeared
    since. An entity is in both if a run or removal was interrupted while hiding it."""

    seen: Mapping[str, SeenEntity] = field(default_factory=dict)
    gone: Mapping[str, SeenEntity] = field(default_factory=dict)

    def find(self, urn: str) -> SeenEntity | None:
        """Return what was last written for an entity, also if it has disappeared since."""
        return self.seen.get(urn) or self.gone.get(urn)

    def encode(self) -> str:
        """Return the state as text: compressed JSON in Base64."""
        shapes: dict[tuple[str, ...], int] = {}
        shown_entities, hidden_entities = (
            {
                urn: [shapes.setdefault(entity.aspects, len(shapes)), entity.measured]
                for urn, entity in sorted(entities.items())
            }
            for entities in (self.seen, self.gone)
        )
        entities = {**self.gone, **self.seen}
        value = {
            "shapes": list(shapes),
            "seen": shown_entities,
            "gone": hidden_entities,
            "given": {
                urn: sorted(entity.given) for urn, entity in entities.items() if entity.given
            },
            "own": {urn: sorted(entity.own) for urn, entity in entities.items() if entity.own},
        }
        return base64.b64encode(zlib.compress(orjson.dumps(value), 9)).decode()

    @classmethod
    def decode(cls, text: str) -> "SeenState":
        """Parse the text of a state. Raises `InvalidInput` if it is invalid."""
        try:
            value = orjson.loads(zlib.decompress(base64.b64decode(text, validate=True)))
            shapes = [tuple(shape) for shape in value["shapes"]]
            given_labels, own_labels = (value.get(name) or {} for name in ("given", "own"))
            # An older format: only the URNs of disappeared entities were stored.
            hidden = (
                value["gone"] if isinstance(value["gone"], dict) else dict.fromkeys(value["gone"])
            )
            shapes.append(())
            states = [
                {
                    str(urn): SeenEntity(
                        shapes[shape],
                        measured,
                        frozenset(given_labels.get(urn, ())),
                        frozenset(own_labels.get(urn, ())),
                    )
                    for urn, (shape, measured) in (
                        (urn, entry or (-1, None)) for urn, entry in entities.items()
                    )
                }
                for entities in (value["seen"], hidden)
            ]
            return cls(*states)
        except (ValueError, zlib.error, KeyError, IndexError, TypeError, AttributeError) as error:
            raise InvalidInput("the saved state of the last run cannot be read") from error

    def count(self, entity_type: str) -> int:
        """Return the number of entities of a type in the last run."""
        prefix = f"urn:li:{entity_type}:"
        return sum(urn.startswith(prefix) for urn in self.seen)


@dataclass(frozen=True, slots=True)
class ConfiguredSource:
    """A source that was added to the catalog. `is_own` is false for sources of DataHub's own
    ingestion, which can be listed but not run from here. If `is_supplement` is set, the source only
    adds to entities of other sources."""

    name: str
    kind: str
    location: str = ""
    options: SourceOptions = field(default_factory=SourceOptions)
    state: SeenState = field(default_factory=SeenState)
    urn: Urn | None = None
    is_own: bool = True
    is_supplement: bool = False

    @property
    def is_in_memory(self) -> bool:
        """Whether the source was in a program's memory, so that it cannot be read again."""
        return self.location.startswith(IN_MEMORY)

    @property
    def entity(self) -> Urn:
        """The URN of the source's own entity."""
        return self.urn or Urn.of(_SOURCE, self.name)

    @classmethod
    def of(cls, name: str, source: Source, options: SourceOptions) -> "ConfiguredSource":
        """Return a source that has not been run yet."""
        return cls(name, source.kind, source.location, options, is_supplement=source.is_supplement)

    def proposal(self) -> Proposal:
        """Return the proposal that stores the source in the catalog."""
        config: dict[str, Any] = {"location": self.location, "env": self.options.env}
        if self.options.instance:
            config["platform_instance"] = self.options.instance
        if self.options.schemas:
            config["schemas"] = list(self.options.schemas)
        if self.options.dialect:
            config["dialect"] = self.options.dialect
        if self.options.encoding:
            config["encoding"] = self.options.encoding
        if self.options.patterns:
            config["patterns"] = list(self.options.patterns)
        config |= {name: True for name in _SWITCHES if getattr(self.options, name)}
        if self.is_supplement:
            config["supplement"] = True
        recipe = {"source": {"type": self.kind, "config": config}, "pipeline_name": self.name}
        value = {
            "name": self.name,
            "type": self.kind,
            "platform": f"urn:li:dataPlatform:{self.kind}",
            "config": {
                "recipe": orjson.dumps(recipe).decode(),
                "version": __version__,
                "executorId": _EXECUTOR,
                "extraArgs": {_STATE: self.state.encode()},
            },
        }
        return Proposal(self.entity, _INFO, value)


def _parse_source(entity: Entity) -> ConfiguredSource | None:
    info = entity.raw(_INFO)
    if not info:
        return None
    config = info.get("config") or {}
    kind, name = str(info.get("type") or ""), str(info.get("name") or entity.urn.name)
    if config.get("executorId") != _EXECUTOR:
        return ConfiguredSource(name, kind, urn=entity.urn, is_own=False)
    try:
        recipe = orjson.loads(config["recipe"])["source"]["config"]
        options = SourceOptions(
            str(recipe["env"]),
            recipe.get("platform_instance"),
            tuple(recipe.get("schemas") or ()),
            recipe.get("dialect"),
            bool(recipe.get("profile")),
            bool(recipe.get("values")),
            bool(recipe.get("keyring")),
            recipe.get("encoding"),
            tuple(recipe.get("patterns") or ()),
        )
        location = str(recipe["location"])
        state = SeenState.decode((config.get("extraArgs") or {}).get(_STATE) or "")
    except (orjson.JSONDecodeError, KeyError, TypeError, InvalidInput) as error:
        raise InvalidInput(
            f"the source {name} was changed by another program and cannot be read: remove it with "
            f"catalog delete {entity.urn} --hard, and add it again"
        ) from error
    # An older format lacks this entry; its query logs are supplements.
    is_supplement = bool(recipe.get("supplement", kind == "sql-queries"))
    return ConfiguredSource(
        name, kind, location, options, state, entity.urn, is_supplement=is_supplement
    )


def read_sources(catalog: Catalog) -> list[ConfiguredSource]:
    """Return the sources of a catalog, sorted by name. One request per 2,500 sources, and one per
    150."""
    entities = catalog.entities(list(catalog.urns(_SOURCE)), [_INFO])
    sources = (_parse_source(entity) for entity in entities.values())
    return sorted(
        (source for source in sources if source),
        key=lambda source: (source.name.casefold(), source.name),
    )


def find_source(catalog: Catalog, name: str) -> ConfiguredSource | None:
    """Return the source with a name, or `None`. One request."""
    check_name(name)
    urn = Urn.of(_SOURCE, name)
    entity = catalog.entities([urn], [_INFO]).get(urn)
    return _parse_source(entity) if entity else None


def merge_options(
    catalog: Catalog, name: str, source: Source, options: SourceOptions, option_names: Iterable[str]
) -> SourceOptions:
    """Return the options of a source that is added or added again: those named in `option_names`
    from `options`, the others as stored, if the source exists. One request."""
    before = find_source(catalog, name)
    if before is None or not before.is_own or before.location != source.location:
        return options
    return replace(before.options, **{option: getattr(options, option) for option in option_names})


def find_differences(merged: SourceOptions, options: SourceOptions) -> tuple[str, ...]:
    """Return the names, as in `OPTIONS`, of the options in which `merged`, of a source that is
    added again, differs from the given `options`."""
    return tuple(
        name
        for name, attribute in OPTIONS.items()
        if getattr(merged, attribute) != getattr(options, attribute)
    )


def require_source(catalog: Catalog, name: str) -> ConfiguredSource:
    """Return the source with a name. Raises `UnknownName`, which names the others, if there is
    none, and `InvalidInput` for a source of DataHub's own ingestion."""
    source = find_source(catalog, name)
    if source is None:
        names = (source.name for source in read_sources(catalog) if source.is_own)
        raise UnknownName("source", name, names)
    if not source.is_own:
        raise InvalidInput(
            f"{name} is a source of DataHub's own ingestion, and only that can run it"
        )
    return source


DriftKind = Literal[
    "table new", "table gone", "table back", "column added", "column dropped", "type changed"
]


@dataclass(frozen=True, slots=True)
class DriftEntry:
    """A change of a dataset. `before` and `after` are native types. `likely` is the probable new
    name of a dropped column, or the probable old name of an added one."""

    urn: str
    kind: DriftKind
    column: str = ""
    before: str = ""
    after: str = ""
    likely: str = ""

    def to_json(self) -> dict[str, str]:
        """Return the entry as an object without empty fields."""
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> "DriftEntry":
        """Parse the result of `to_json`."""
        return cls(**{name: value[name] for name in cls.__slots__ if name in value})


@dataclass(frozen=True, slots=True)
class SourceRun:
    """A run of a source. `counts` has how many entities were added, changed and so on; `report`
    says why it failed or what was skipped or refused. `status` is one of DataHub's: RUNNING,
    SUCCESS, FAILURE, CANCELLED. `drift` is how tables changed since the previous run; the first
    thousand changes are stored."""

    id: str
    status: str
    started_millis: int
    duration_millis: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    report: str = ""
    drift: tuple[DriftEntry, ...] = ()

    def input_proposal(self, source: ConfiguredSource) -> Proposal:
        """Return the proposal that records the request for the run."""
        value = {
            "task": "RUN_INGEST",
            "args": {"pipeline_name": source.name, "location": source.location},
            "executorId": _EXECUTOR,
            "source": {"type": "CLI_INGESTION_SOURCE", "ingestionSource": str(source.entity)},
            "requestedAt": self.started_millis,
        }
        return Proposal(Urn.of(_RUN, self.id), _INPUT, value)

    def result_proposal(self) -> Proposal:
        """Return the proposal that records the state of the run."""
        value: dict[str, Any] = {
            "status": self.status,
            "report": self.report[:_MOST_REPORT],
            "startTimeMs": self.started_millis,
        }
        if self.duration_millis is not None:
            value["durationMs"] = self.duration_millis
        if self.counts:
            figures: dict[str, Any] = dict(self.counts)
            if self.drift:
                figures["drift"] = len(self.drift)
                figures["schema_changes"] = [
                    entry.to_json() for entry in self.drift[:_MOST_CHANGES]
                ]
            value["structuredReport"] = {
                "type": "CLI_INGEST",
                "serializedValue": orjson.dumps(figures).decode(),
                "contentType": "application/json",
            }
        return Proposal(Urn.of(_RUN, self.id), _RESULT, value)


def read_runs(catalog: Catalog, source: ConfiguredSource) -> list[SourceRun]:
    """Return the runs of a source, newest first. One request, and one per 150 runs."""
    runs = catalog.entities(run_urns(catalog, source), [_INPUT, _RESULT])
    return sorted(map(_parse_run, runs.values()), key=lambda run: (-run.started_millis, run.id))


def _parse_run(entity: Entity) -> SourceRun:
    request, result = entity.raw(_INPUT) or {}, entity.raw(_RESULT) or {}
    started = result.get("startTimeMs") or request.get("requestedAt") or 0
    counts: dict[str, int] = {}
    drift: tuple[DriftEntry, ...] = ()
    report = result.get("structuredReport") or {}
    if request.get("executorId") == _EXECUTOR and report.get("serializedValue"):
        figures = orjson.loads(report["serializedValue"])
        counts = {str(name): number for name, number in figures.items() if isinstance(number, int)}
        drift = tuple(
            DriftEntry.of(schema_change) for schema_change in figures.get("schema_changes") or ()
        )
    return SourceRun(
        entity.urn.name,
        str(result.get("status") or "RUNNING"),
        int(started),
        result.get("durationMs"),
        counts,
        str(result.get("report") or "") if request.get("executorId") == _EXECUTOR else "",
        drift,
    )


def run_urns(catalog: Catalog, source: ConfiguredSource) -> list[Urn]:
    """Return the URNs of the runs of a source. One request."""
    return [edge.urn for edge in catalog.related(source.entity, "INCOMING", ["ingestionSource"])]


def find_shared_urns(
    sources: Iterable[ConfiguredSource], name: str, urns: Iterable[str]
) -> dict[str, str]:
    """Return those of the URNs that sources other than `name` also provide, each with the name of
    one such source."""
    own_urns = set(urns)
    return {
        urn: source.name
        for source in sources
        if source.is_own and source.name != name and not source.is_supplement
        for urn in source.state.seen.keys() & own_urns
    }


def find_labels(sources: Iterable[ConfiguredSource], name: str) -> dict[str, frozenset[str]]:
    """Return the labels that entities have because of sources other than `name`, by URN."""
    labels: dict[str, frozenset[str]] = {}
    for source in sources:
        if source.is_own and source.name != name:
            for urn, entity in source.state.seen.items():
                if entity.own:
                    labels[urn] = labels.get(urn, frozenset()) | entity.own
    return labels


def schema_changes(
    urn: Urn, before: Mapping[str, Any] | None, after: Mapping[str, Any]
) -> Iterator[DriftEntry]:
    """Yield the column changes between two values of `schemaMetadata`: dropped and changed columns
    in the old order, then added columns. Nothing if there was no schema before."""
    if before is None:
        return
    old, new = (
        {column["fieldPath"]: column for column in value["fields"]} for value in (before, after)
    )
    renamed = _match_renames(old, new)
    old_paths = {new_path: path for path, new_path in renamed.items()}
    for path, old_column in old.items():
        kind = str(old_column.get("nativeDataType") or "")
        if path not in new:
            likely = renamed.get(path, "")
            yield DriftEntry(str(urn), "column dropped", path, before=kind, likely=likely)
        elif kind != (now := str(new[path].get("nativeDataType") or "")):
            yield DriftEntry(str(urn), "type changed", path, kind, now)
    for path, new_column in new.items():
        if path not in old:
            kind = str(new_column.get("nativeDataType") or "")
            yield DriftEntry(str(urn), "column added", path, "", kind, old_paths.get(path, ""))


def _match_renames(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, str]:
    """Return the probable new names of dropped columns: columns with similar names, then columns
    with the same type and position if the table has as many columns as before."""
    renames = likely_columns(old, new)
    if len(old) == len(new):
        for path, new_path in zip(old, new, strict=True):
            same = old[path].get("nativeDataType") == new[new_path].get("nativeDataType")
            is_free = path not in new and new_path not in old and new_path not in renames.values()
            if same and is_free and path not in renames:
                renames[path] = new_path
    return renames


@dataclass(frozen=True, slots=True)
class CarriedText:
    """The edited description of a column that was probably renamed. `new_text` is the new column's
    own description, which is kept. `is_shown` is set if the edited description is shown at the new
    column already, because only the type or case changed."""

    urn: Urn
    column: str
    likely: str
    text: str
    new_text: str = ""
    is_shown: bool = False


def find_texts(catalog: Catalog, changes: Iterable[DriftEntry]) -> list[CarriedText]:
    """Return the descriptions of dropped columns that were probably renamed, using the newest
    change of each; `changes` are newest first. One request per 150 datasets."""
    pairs: dict[tuple[str, str], str] = {}
    for change in changes:
        if change.kind == "column dropped" and change.likely:
            pairs.setdefault((change.urn, change.column), change.likely)
    urns = list(dict.fromkeys(Urn.parse(urn) for urn, _ in pairs))
    entities = catalog.entities(urns, ["schemaMetadata", "editableSchemaMetadata"])
    carried = []
    for (text_urn, column), likely in pairs.items():
        entity = entities.get(urn := Urn.parse(text_urn))
        if entity is None or entity.schema.column(column) is not None:
            continue
        listed = (entity.raw("editableSchemaMetadata") or {}).get("editableSchemaFieldInfo") or ()
        texts = {
            column_info["fieldPath"]: column_info.get("description") or "" for column_info in listed
        }
        new = entity.schema.column(likely)
        if texts.get(column) and new is not None:
            text, new_text = texts[column], texts.get(likely, "")
            is_shown = new.earlier is not None and new.earlier.raw == column
            if text != new_text:
                carried.append(CarriedText(urn, column, likely, text, new_text, is_shown))
    return carried


def take_texts(catalog: Catalog, texts: Iterable[CarriedText]) -> list[CarriedText]:
    """Copy descriptions from old columns to new ones, as one save, and return the copied ones.
    Descriptions that are already shown at the new column are moved instead. A new column that has
    been described meanwhile keeps its description. Up to four requests each."""
    copied = []
    with one_save():
        for text in texts:
            if text.new_text:
                continue
            if text.is_shown:
                catalog.carry_over(text.urn, text.likely)
                copied.append(text)
                continue
            try:
                catalog.describe(text.urn, text.text, column=text.likely, instead_of="")
            except TextConflict:
                continue
            copied.append(text)
    return copied
