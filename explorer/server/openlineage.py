"""Convert OpenLineage events (specification 2-0-2) to changes of aspects, mapped as DataHub does.

A job is a `dataJob` in a `dataFlow`, a run a `dataProcessInstance`, a dataset a `dataset` whose
platform and name are derived from its namespace (`dataset_urn`). Data without an aspect in the
model is kept in custom properties: the fields of the specification's own facets as
`<facet>.<field>`, any other facet whole, as JSON. Anything that looks like a secret is replaced
with `***`.

Events are partial: one event of a run names its inputs, a later one its outputs. A change therefore
contains additions, and `merge_change` adds them to the stored value.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import md5
from typing import Any, Final
from uuid import UUID

import orjson
from msgspec import Struct
from msgspec.structs import replace

from explorer.errors import InvalidInput, InvalidUrn
from explorer.metadata.aspects import schema_value
from explorer.metadata.fieldpath import ColumnPaths, column_urn
from explorer.metadata.proposal import millis_of
from explorer.metadata.urn import Urn
from explorer.server.cache import ByteCache

_log = logging.getLogger(__name__)
PIPELINE: Final = "openlineage"
"""The pipeline name in the system metadata of aspects that events wrote."""
TIMESERIES: Final = frozenset(
    {"assertionRunEvent", "dataProcessInstanceRunEvent", "datasetProfile", "operation"}
)
GIVEN: Final = frozenset({"editableSchemaMetadata", "globalTags", "ownership"})
"""The aspects with owners and tags. People may remove these, and events do not add them again."""

Json = dict[str, Any]

_ACTOR: Final = "urn:li:corpuser:datahub"
_SCHEMA: Final = "com.linkedin.schema."
_TYPES: Final = ("START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER")
_MOST_DATASETS: Final = 5_000
_MOST_COLUMNS: Final = 20_000
_MOST_PAIRS: Final = 100_000
_MOST_FACETS: Final = 200
_MOST_PROPERTIES: Final = 500
_MOST_CHARACTERS: Final = 20_000
_MOST_LEVELS: Final = 100
_MOST_NAME: Final = 1_000
_MOST_PATH: Final = 4_000
_MOST_PATHS: Final = 4_000_000
_MOST_EDGES: Final = 20_000
_MOST_IGNORED: Final = 20
_MOST_TOLD: Final = 100
# Up to this many changes of one aspect are not combined: each may be known to add nothing.
_MOST_APART: Final = 4
_DAY_MILLIS: Final = 86_400_000
_MOST_REMEMBERED: Final = 1 << 16
_MEMORY_BYTES: Final = 32 << 20


class Note(Struct, eq=False):
    """Remarks of the caller on a value that recurs: `checked` for the value, and `settled` for the
    change, if the change recurs too."""

    checked: Any = None
    settled: Any = None


class AspectChange(Struct, frozen=True):
    """The content that an event adds to an aspect.

    `drops` names the custom properties to remove, each together with all properties whose names
    begin with it and a dot, and may name `description`. For a schema, `columns` in it means that
    the schema is complete. A change that `recurs` is the same object for every event with the same
    content, as long as the `Memory` holds it. `note` holds remarks of the caller on the value, and
    is the same object wherever the value recurs, also in changes of other entities; it is `None` if
    the value does not recur.
    """

    urn: Urn
    aspect: str
    value: Json
    drops: tuple[str, ...] = ()
    recurs: bool = False
    note: Note | None = None


class Instances:
    """The platform instances of datasets by their namespaces: `patterns` are pairs of a namespace,
    in which `*` stands for any text, and an instance, in which `{host}` stands for the host. The
    first pattern that matches counts. If none does, a dataset has no instance, as in DataHub.
    """

    def __init__(self, patterns: Iterable[tuple[str, str]] = ()) -> None:
        self._patterns = tuple(
            (re.compile(".*".join(map(re.escape, pattern.split("*")))), instance)
            for pattern, instance in patterns
        )
        self._first: dict[str, str] = {}
        self._merged: set[str] = set()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> "Instances":
        """Parse instances from texts of the form `NAMESPACE=INSTANCE`. Raises `InvalidInput` for
        any other text."""
        patterns = []
        for text in texts:
            namespace, separator, instance = text.rpartition("=")
            if not separator or not namespace:
                raise InvalidInput(f"{text!r} is not NAMESPACE=INSTANCE, as postgres://b:5432=b")
            patterns.append((namespace, instance))
        return cls(patterns)

    def of(self, namespace: str) -> str:
        """Return the instance of a namespace, empty for none."""
        for pattern, instance in self._patterns:
            if pattern.fullmatch(namespace):
                host = namespace.partition("://")[2].rpartition("@")[2].partition(":")[0]
                return instance.replace("{host}", host)
        return ""

    def note_host(self, platform: str, namespace: str) -> None:
        """Log a message the first time that datasets of a platform come from a second host and are
        taken for the same datasets."""
        first = self._first.setdefault(platform, namespace)
        is_told = namespace in self._merged or len(self._merged) >= _MOST_TOLD
        if namespace != first and not is_told:
            self._merged.add(namespace)
            _log.warning(
                "datasets of %s and of %s have the same names in the catalog; if they are not the "
                "same, start the service with --openlineage-instance %s=NAME",
                first,
                namespace,
                namespace,
            )


class Memory(ByteCache[bytes | None, Any]):
    """A cache of parsed parts of events, datasets and jobs, which recur with every run. It holds
    about 32 MB. `instances` are those of the datasets in it."""

    def __init__(self, instances: Instances | None = None) -> None:
        super().__init__(_MEMORY_BYTES, _MEMORY_BYTES)
        self.instances = instances or Instances()

    def keep(self, part: bytes | None, parsed_part: Any, more: int = 0) -> None:
        """Cache the parsed form of a part, unless `part` is `None`. Its size is estimated as eight
        times that of the part, plus `more`."""
        if part is not None:
            self.put(part, parsed_part, 8 * len(part) + more)


@dataclass(slots=True)
class Event:
    """The changes of an event, and the run named in the system metadata.

    Changes of the same aspect are in the order of the event. `path_characters` is the total length
    of the column paths in its schemas, without those of datasets that were cached. `parent_run` is
    the run that started this one, and `parent_job` the job that it probably belongs to; the stored
    aspects of the run are authoritative. `renamed` has the renamed datasets, as (old, new).
    `ignored` says which facets were left out because they are malformed. `memory` is the cache with
    which the event was parsed.
    """

    run: str
    at_millis: int
    changes: list[AspectChange] = field(default_factory=list)
    job: Urn | None = None
    parent_run: Urn | None = None
    parent_job: Urn | None = None
    renamed: list[tuple[Urn, Urn]] = field(default_factory=list)
    path_characters: int = 0
    ignored: tuple[str, ...] = ()
    memory: Memory = field(default_factory=Memory, repr=False)

    def is_beside(self, other: Urn) -> bool:
        """Return whether another job is in the same flow as the event's job, and so is related to
        it already."""
        return self.job is not None and other.parts[0] == self.job.parts[0]

    def edge_from(self, other: Urn) -> AspectChange:
        """Return the change that adds an edge from the job of the parent run to the event's job."""
        job = self.job or other
        part = _cache_key("parent", str(other), str(job))
        change: AspectChange | None = self.memory.get(part)
        if change is None:
            edge = _edge(other) | {"properties": {"relationship": "parent"}}
            value = _input_output() | {"inputDatajobEdges": [edge]}
            change = AspectChange(job, "dataJobInputOutput", value, recurs=True, note=Note())
            self.memory.keep(part, change)
        return change


# --- Reading fields; errors name the field --------------------------------------------------------


def _kind(value: Any) -> str:
    names = {
        dict: "an object",
        list: "a list",
        str: "a text",
        bool: "a boolean",
        type(None): "null",
    }
    return names.get(type(value), "a number")


def _wrong(at: str, expectation: str, value: Any) -> InvalidInput:
    description = (
        f"{_kind(value)} {value!r:.60}" if isinstance(value, str | int | float) else _kind(value)
    )
    return InvalidInput(f"{at}: expected {expectation}, found {description}")


def _object(value: Any, at: str) -> Json:
    if not isinstance(value, dict):
        raise _wrong(at, "an object", value)
    return value


def _part(holder: Json, name: str, at: str) -> Json:
    """Return the object under a name, empty if absent."""
    value = holder.get(name)
    return {} if value is None else _object(value, f"{at}.{name}")


def _list(holder: Json, name: str, at: str, most: int = _MOST_COLUMNS) -> list[Json]:
    """Return the list of objects under a name, empty if absent. Raises `InvalidInput` if it has
    more than `most`."""
    value = holder.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise _wrong(f"{at}.{name}", "a list", value)
    if len(value) > most:
        raise InvalidInput(f"{at}.{name}: {len(value)} elements are more than the {most} taken")
    for index, element in enumerate(value):
        if not isinstance(element, dict):
            raise _wrong(f"{at}.{name}[{index}]", "an object", element)
    return value


def _text(holder: Json, name: str, at: str) -> str | None:
    value = holder.get(name)
    if value is not None and not isinstance(value, str):
        raise _wrong(f"{at}.{name}", "a text", value)
    return value


_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u241f]")


def _name(holder: Json, name: str, at: str) -> str:
    """Return a required text that becomes part of a URN."""
    value = holder.get(name)
    if value is None:
        raise InvalidInput(f"{at}.{name}: is required, and is a text")
    if not isinstance(value, str):
        raise _wrong(f"{at}.{name}", "a text", value)
    if not value.strip():
        raise InvalidInput(f"{at}.{name}: is empty")
    if match := _CONTROL.search(value):
        raise InvalidInput(f"{at}.{name}: has the control character {match[0]!r}")
    if len(value) > _MOST_NAME:
        raise InvalidInput(
            f"{at}.{name}: {len(value)} characters are more than the {_MOST_NAME} of a name"
        )
    return value.strip()


def _path(path: str, at: str) -> str:
    """Return the path of a column unchanged. Raises `InvalidInput` if it is too long."""
    if len(path) > _MOST_PATH:
        raise InvalidInput(
            f"{at}: {len(path)} characters are more than the {_MOST_PATH} of a column's path"
        )
    return path


def _number(holder: Json, name: str, at: str) -> int | float | None:
    value = holder.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(f"{at}.{name}", "a number", value)
    return value


def _count(holder: Json, name: str, at: str) -> int | None:
    value = _number(holder, name, at)
    if value is not None and (value != int(value) or not -(2**63) <= value < 2**63):
        raise _wrong(f"{at}.{name}", "a whole number", value)
    return None if value is None else int(value)


_ZONE: Final = re.compile(r"\[[\w/+-]+\]$")


def _millis(holder: Json, name: str, at: str) -> int | None:
    """Return a time in milliseconds since 1970, or `None` if absent. A time without a zone is in
    UTC."""
    text = _text(holder, name, at)
    if text is None:
        return None
    if "T" in text.upper():
        try:
            moment = datetime.fromisoformat(_ZONE.sub("", text))
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return millis_of(moment)
        except (ValueError, OverflowError):
            pass
    raise InvalidInput(
        f"{at}.{name}: expected a time such as 2024-05-01T12:00:00Z, found {text!r:.60}"
    )


def _run_id(holder: Json, at: str) -> str:
    text = _name(holder, "runId", at)
    try:
        return str(UUID(text))
    except ValueError:
        raise InvalidInput(f"{at}.runId: expected a UUID, found {text!r:.60}") from None


# --- Names ----------------------------------------------------------------------------------------

# The characters that DataHub's connectors encode in a name.
_RESERVED: Final = str.maketrans({"(": "%28", ")": "%29", ",": "%2C"})
_FILES: Final = {
    **dict.fromkeys(("s3", "s3a", "s3n"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    **dict.fromkeys(("abfs", "abfss", "wasb", "wasbs"), "abs"),
    "dbfs": "dbfs",
    "file": "file",
}
_PLATFORMS: Final = {"awsathena": "athena", "sqlserver": "mssql", "postgresql": "postgres"}
_GLUE: Final = re.compile(r"(?:arn:)?aws:glue:")
_TABLE: Final = "table/"


@lru_cache(maxsize=8192)
def dataset_urn(namespace: str, name: str, instance: str = "") -> Urn:
    """Return the URN of a dataset by OpenLineage's naming rules. A platform instance is put before
    its name, as DataHub does.

    The platform comes from the namespace, such as `postgres://host:5432`, `s3://bucket` or
    `bigquery`. The name is that of the dataset; for files, it is prefixed with the part after
    `://` in the namespace, such as the bucket. For other platforms that part, such as the host and
    port, is left out, as in DataHub; `instance` may replace it.

    Raises `InvalidUrn` if the URN is not valid.
    """
    if "://" not in namespace and "://" in name:
        namespace, _, name = name.partition("://")
        namespace += "://"
    scheme, separator, authority = namespace.partition("://")
    platform = scheme
    if separator:
        platform = scheme.partition("+")[0].lower()
        if platform in _FILES:
            name = "/".join(part for part in (authority.rstrip("/"), name.lstrip("/")) if part)
            is_absolute = platform == "file" and not authority
            name = ("/" if is_absolute else "") + name
    elif _GLUE.match(namespace):
        platform = "glue"
        if name.startswith(_TABLE):
            name = name.removeprefix(_TABLE).replace("/", ".")
    elif namespace.startswith("file:"):
        # The warehouse folder of Spark without a catalog.
        platform, name = "file", f"{namespace.removeprefix('file:').rstrip('/')}/{name.lstrip('/')}"
    platform = _FILES.get(platform) or _PLATFORMS.get(platform) or platform or "unknown"
    if platform in _FILES.values():
        name = name.rstrip("/") or name
    name = f"{instance}.{name}" if instance else name
    return _check_urn(Urn.dataset(platform.translate(_RESERVED), name.translate(_RESERVED)))


def _check_urn(urn: Urn) -> Urn:
    return Urn.parse(str(urn))


@dataclass(slots=True)
class _Names:
    """The URNs of the datasets that an event names: `aliases` by namespace and name, for references
    to them elsewhere in the event, and `instances_by_urn` their platform instances."""

    instances: Instances
    aliases: dict[tuple[str, str], Urn] = field(default_factory=dict)
    instances_by_urn: dict[Urn, str] = field(default_factory=dict)

    def find(self, holder: Json, at: str) -> Urn:
        """Return the URN of a dataset that the event refers to: the recorded one, else a new
        one."""
        identifiers = (_name(holder, "namespace", at), _name(holder, "name", at))
        return self.aliases.get(identifiers) or self.make(*identifiers, at)

    def make(self, namespace: str, name: str, at: str) -> Urn:
        """Create the URN of a dataset from its namespace and name; note its instance or host."""
        instance = self.instances.of(namespace)
        try:
            urn = dataset_urn(namespace, name, instance)
        except InvalidUrn as error:
            raise InvalidInput(f"{at}.name: {error}") from None
        if instance:
            self.instances_by_urn[urn] = instance
        elif namespace.partition("://")[2] and urn.platform not in _FILES.values():
            # The URN lacks the host, so datasets of several hosts may get the same URN.
            self.instances.note_host(urn.platform or "", namespace)
        return urn


def _follow_symlink(dataset: Json, at: str, names: _Names) -> Urn:
    """Return the URN of a dataset: that of the last table in its `symlinks` facet if there is one,
    else its own."""
    facet = _facet(_part(dataset, "facets", at), "symlinks", f"{at}.facets")
    urn = None
    for index, identifier in enumerate(_list(facet, "identifiers", f"{at}.facets.symlinks")):
        place = f"{at}.facets.symlinks.identifiers[{index}]"
        if (_text(identifier, "type", place) or "").upper() != "TABLE":
            continue
        namespace, name = _name(identifier, "namespace", place), _name(identifier, "name", place)
        if namespace.partition(":")[0].lower() in (*_FILES, "hdfs"):
            # Spark without a metastore gives the location of the warehouse as the namespace.
            namespace = "hive"
        urn = names.make(namespace, name, place)
    return urn or names.make(_name(dataset, "namespace", at), _name(dataset, "name", at), at)


_INTEGRATION: Final = re.compile(
    r"https?://github\.com/(?:openlineage/openlineage/.*integration/([\w.-]+)"
    r"|apache/(airflow)|trinodb/(trino))(?:/|$)",
    re.IGNORECASE,
)


def _orchestrator(*names: str | None, producer: str | None) -> str:
    """Return the tool that runs a job: the first of `names` that is given (they come from facets),
    else the integration in the URL of the producer, else `unknown`."""
    for name in names:
        if name and name.strip():
            return _PLATFORMS.get(name.strip().lower(), name.strip().lower())
    match = _INTEGRATION.match(producer or "")
    return next((group.lower() for group in match.groups() if group), "") if match else "unknown"


def _job_urn(job: Json, orchestrator: str, at: str) -> Urn:
    """Return the URN of a job. Its flow is named by the part of the job's name before the first
    dot."""
    try:
        return _make_job_urn(orchestrator, _name(job, "namespace", at), _name(job, "name", at))
    except InvalidUrn as error:
        raise InvalidInput(f"{at}.name: {error}") from None


@lru_cache(maxsize=8192)
def _make_job_urn(orchestrator: str, namespace: str, name: str) -> Urn:
    parts = (orchestrator, name.partition(".")[0] or name, namespace)
    flow = Urn.of("dataFlow", *(_CONTROL.sub("", part).translate(_RESERVED) for part in parts))
    return _check_urn(Urn.of("dataJob", flow, name.translate(_RESERVED)))


def _flow(job: Urn) -> Urn:
    return Urn.parse(job.parts[0])


def _instance(run: str) -> Urn:
    return Urn("dataProcessInstance", (run,))


# --- Custom properties, and secrets in them -------------------------------------------------------

_SECRET_NAME: Final = re.compile(
    r"pass(?:w|phrase|$)|pwd|secret|token|credential|api_?-?key|(?:access|private|account|shared|"
    r"encryption|signing)[_.-]?key|cookie|authorization|(?:^|_)(?:auth|sig|sas|dsn)$|connection_?string",
    re.IGNORECASE,
)
_SECRET_VARIABLE: Final = re.compile(
    rf"{_SECRET_NAME.pattern}|key(?:_|$)|auth|cert|salt", re.IGNORECASE
)
_SECRET_VALUE: Final = re.compile(
    # user:password in a URL, up to the last @; digits that look like a port are one.
    r"(?<=://)[^\s/@:]*:(?!\d+[/?#])[^\s\"'<>,;]{1,200}(?=@)|(?<=://)[^\s/@:]*:[^\s/@]+(?=@)"
    # A name and a value: secret.key=x, "password": "x", PASSWORD 'x'. Quotes are escaped in a text
    # inside JSON.
    r"|(?P<name>(?i:pass(?:w|phrase)|pwd|secret|token|credential|api_?-?key|cookie|authorization|"
    r"(?:access|private|account|shared|encryption|signing)[_.-]?key|connection_?string)"
    r"[\w.-]{0,40}(?:(?:\\?[\"'\]]){0,2}\s{0,5}(?:=>|[=:])\s{0,5}|\s{1,5}(?=\\?[\"'])))"
    r"(?P<mark>\\?[\"']|)(?:(?i:basic|bearer|digest)\s+)?(?:(?<=[\"'])"
    r"[^\"'\\]+|[^\s;&,'\"\\)}\]]+)"
    r"|(?i:(?<=bearer ))[^\s;&,'\"]+"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{20,}"
    r"|\bxox[abeoprs]-[\w-]{10,}|\bsk-[\w-]{20,}|\bdapi[0-9a-f]{32}\b|\bAIza[\w-]{35}"
    r"|\beyJ[\w-]{1,2000}\.[\w-]{1,2000}\.[\w-]+"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
)
_HIDDEN: Final = "***"
# The parts of a statement: comments, quoted names and words, which are kept, and literals.
_SQL_PART: Final = re.compile(
    r"(?P<kept>--[^\n]*|/\*(?s:.*?)(?:\*/|\Z)|\"[^\"]*\"|`[^`]*`|[^\W\d][\w$]*)"
    r"|'(?:[^'\\]|''|\\(?s:.))*+(?:'|\Z)|\$(?P<tag>\w{0,20})\$(?s:.*?)(?:\$(?P=tag)\$|\Z)"
    r"|\d[\w.]*"
)
# The facets of the specification, and `airflow`; any other is kept whole.
_KNOWN: Final = frozenset(
    {
        "airflow",
        "catalog",
        "columnLineage",
        "dataQualityAssertions",
        "dataQualityMetrics",
        "dataSource",
        "datasetType",
        "documentation",
        "environmentVariables",
        "errorMessage",
        "executionParameters",
        "externalQuery",
        "extractionError",
        "hierarchy",
        "inputStatistics",
        "jobDependencies",
        "jobType",
        "lifecycleStateChange",
        "lineage",
        "nominalTime",
        "outputStatistics",
        "ownership",
        "parent",
        "processing_engine",
        "schema",
        "sourceCode",
        "sourceCodeLocation",
        "sql",
        "storage",
        "subset",
        "symlinks",
        "tags",
        "test",
        "version",
    }
)
# Facets that are stored in separate aspects, not in custom properties.
_MAPPED: Final = frozenset(
    {
        "columnLineage",
        "dataQualityAssertions",
        "dataQualityMetrics",
        "documentation",
        "inputStatistics",
        "lineage",
        "outputStatistics",
        "ownership",
        "schema",
    }
)
# Custom properties for which DataHub has other names.
_NAMED: Final = {
    "processing_engine.name": "processingEngine",
    "processing_engine.version": "processingEngineVersion",
    "processing_engine.openlineageAdapterVersion": "openlineageAdapterVersion",
    "storage.storageLayer": "storageLayer",
    "storage.fileFormat": "fileFormat",
    "version.datasetVersion": "datasetVersion",
}
# This facet is stored in the aspect `dataTransformLogic`.
_QUERY: Final = ("sql", "query")
_OWN_FIELDS: Final = frozenset({"_producer", "_schemaURL", "_deleted"})


def _hide_secret(match: re.Match[str]) -> str:
    return f"{match['name'] or ''}{match['mark'] or ''}{_HIDDEN}"


def _statement(text: str) -> str:
    """Return a SQL statement without secrets, with `?` in place of literals, cut after 20,000
    characters."""
    statement = _SQL_PART.sub(
        lambda match: match["kept"] or "?", _open(text[: 2 * _MOST_CHARACTERS])
    )
    return statement if len(text) <= 2 * _MOST_CHARACTERS else _open(statement)


def _open(text: str) -> str:
    """Return a text without secrets, cut after 20,000 characters."""
    # Secrets are searched for in twice as much, since one may extend beyond the cut.
    text_without_secrets = _SECRET_VALUE.sub(_hide_secret, text[: 2 * _MOST_CHARACTERS])
    if len(text) <= _MOST_CHARACTERS and len(text_without_secrets) <= _MOST_CHARACTERS:
        return text_without_secrets
    return f"{text_without_secrets[:_MOST_CHARACTERS]}… (cut at {_MOST_CHARACTERS} characters)"


def _redact(value: Any, at: str, level: int = 0) -> Any:
    """Return a JSON value with everything masked that looks like a secret, by its name or
    content."""
    if level > _MOST_LEVELS:
        raise InvalidInput(f"{at}: is nested more than {_MOST_LEVELS} levels deep")
    if isinstance(value, str):
        # Only this much is needed, because longer texts are cut later.
        return _SECRET_VALUE.sub(_hide_secret, value[: 2 * _MOST_CHARACTERS])
    if isinstance(value, list):
        return [_redact(element, at, level + 1) for element in value]
    if not isinstance(value, dict):
        return value
    # An object with a name and a value, as in lists of variables and parameters.
    name = value.get("name", value.get("key"))
    hides = isinstance(name, str) and _SECRET_VARIABLE.search(name)
    return {
        key: _HIDDEN
        if (_SECRET_NAME.search(key) or (hides and key == "value"))
        and not isinstance(content, bool | int | float | None)
        else _redact(content, at, level + 1)
        for key, content in value.items()
    }


def _json(value: Any, at: str) -> str:
    value_without_secrets = _redact(value, at)
    return _open(
        value_without_secrets
        if isinstance(value_without_secrets, str)
        else orjson.dumps(value_without_secrets).decode()
    )


def _facets(holder: Json, name: str, at: str) -> Json:
    """Return the facets under a name, each an object or null."""
    facets = _part(holder, name, at)
    for key, facet in facets.items():
        if facet is not None:
            _object(facet, f"{at}.{name}.{key}")
    return facets


def _facet(facets: Json, name: str, at: str) -> Json:
    """Return a facet; an empty object if it is absent or marked as deleted."""
    facet = facets.get(name)
    if facet is None:
        return {}
    content = _object(facet, f"{at}.{name}")
    return {} if content.get("_deleted") is True else content


def _properties(
    facets: Json, at: str, *mapped: str, memory: Memory | None = None
) -> tuple[dict[str, str], list[str]]:
    """Return the custom properties for facets, and the names of the properties of facets that are
    marked as deleted. Facets in `mapped` are stored in aspects and left out. At most 200 facets are
    read; with a `memory`, each is parsed once."""
    properties: dict[str, str] = {}
    deleted_names: list[str] = []
    for key, facet in list(facets.items())[:_MOST_FACETS]:
        if facet is None:
            continue
        if facet.get("_deleted") is True:
            name = _property_name(key)
            deleted_names += [
                name,
                *(new for old, new in _NAMED.items() if old.startswith(f"{key}.")),
            ]
        elif key not in _MAPPED and key not in mapped:
            part = _cache_key("facet", key, facet) if memory is not None else None
            facet_properties: dict[str, str] | None = (
                memory.get(part) if memory is not None else None
            )
            if facet_properties is None:
                place = f"{at}.{key}"
                is_known = key in _KNOWN
                facet_properties = (
                    _flat(key, facet, place)
                    if is_known
                    else {_property_name(key): _json(facet, place)}
                )
                if memory is not None:
                    memory.keep(part, facet_properties)
            properties |= facet_properties
    return properties, deleted_names


def _property_name(key: str) -> str:
    return _CONTROL.sub("", key)[:200]


def _flat(key: str, facet: Json, at: str) -> dict[str, str]:
    """Return the fields of a known facet as properties; for environment variables and execution
    parameters one property each, with secret values hidden."""
    if key in ("environmentVariables", "executionParameters"):
        listed = "environmentVariables" if key == "environmentVariables" else "parameters"
        properties = {}
        for index, entry in enumerate(_list(facet, listed, at)[:_MOST_FACETS]):
            place = f"{at}.{listed}[{index}]"
            name = _name(entry, "name" if key == "environmentVariables" else "key", place)
            value = _text(entry, "value", place)
            if value is not None:
                hidden = _SECRET_VARIABLE.search(name)
                properties[f"{key}.{name[:200]}"] = _HIDDEN if hidden else _open(value)
        return properties
    return {
        _NAMED.get(f"{key}.{name}", f"{key}.{name[:200]}"): _json(value, f"{at}.{name}")
        for name, value in facet.items()
        if value not in (None, [], {}) and name not in _OWN_FIELDS and (key, name) != _QUERY
    }


# --- Parts of aspects -----------------------------------------------------------------------------


def _stamp(at_millis: int) -> Json:
    return {"time": at_millis, "actor": _ACTOR}


def _edge(urn: Urn) -> Json:
    """Return an edge without a time; `merge_change` sets that."""
    return {"destinationUrn": str(urn)}


def _input_output() -> Json:
    return {"inputDatasets": [], "outputDatasets": []}


def _documentation(facets: Json, at: str) -> tuple[dict[str, str], list[str]]:
    """Return the description in facets as the fields of an aspect, and `["description"]` if it is
    marked as deleted; each is empty otherwise."""
    facet = _facet(facets, "documentation", at)
    description = _text(facet, "description", f"{at}.documentation")
    is_deleted = (facets.get("documentation") or {}).get("_deleted") is True
    deleted_names = ["description"] if is_deleted else []
    return {"description": description} if description else {}, deleted_names


_OWNER_TYPES: Final = {
    **{name: name for name in ("TECHNICAL_OWNER", "BUSINESS_OWNER", "DATA_STEWARD", "DELEGATE")},
    **{name: name for name in ("PRODUCER", "CONSUMER", "STAKEHOLDER", "DATAOWNER", "DEVELOPER")},
    "STEWARD": "DATA_STEWARD",
    "DATA_OWNER": "DATAOWNER",
}


def _ownership(urn: Urn, facets: Json, at: str) -> Iterator[AspectChange]:
    facet, at = _facet(facets, "ownership", at), f"{at}.ownership"
    owners = []
    for index, owner in enumerate(_list(facet, "owners", at, 1_000)):
        place = f"{at}.owners[{index}]"
        name = _name(owner, "name", place)
        kind = (_text(owner, "type", place) or "").strip().upper().replace(" ", "_")
        owners.append(
            {
                "owner": str(_owner(name, place)),
                "type": _OWNER_TYPES.get(kind, "DEVELOPER"),
                "source": {"type": "SERVICE"},
            }
        )
    if owners:
        yield AspectChange(urn, "ownership", {"owners": owners})


def _owner(name: str, at: str) -> Urn:
    """Return the URN of an owner: a group for `team:x` and `group:x`, otherwise a user. A URN of a
    user or group is returned as it is."""
    scheme, colon, rest = name.partition(":")
    kind, identifier = "corpuser", name
    if colon and rest.strip():
        if scheme.lower() in ("team", "group"):
            kind, identifier = "corpGroup", rest.strip()
        elif scheme.lower() in ("user", "person"):
            identifier = rest.strip()
    try:
        if name.startswith(("urn:li:corpuser:", "urn:li:corpGroup:")):
            return Urn.parse(name)
        return _check_urn(Urn(kind, (identifier.translate(_RESERVED),)))
    except InvalidUrn as error:
        raise InvalidInput(f"{at}.name: {error}") from None


def _tag(name: str, at: str) -> Json:
    try:
        return {"tag": str(_check_urn(Urn("tag", (name.translate(_RESERVED),))))}
    except InvalidUrn as error:
        raise InvalidInput(f"{at}: {error}") from None


def _tags(urn: Urn, facets: Json, at: str) -> Iterator[AspectChange]:
    """Yield the changes that add the tags of an entity, `key` or `key:value`, and those of its
    columns."""
    facet, at = _facet(facets, "tags", at), f"{at}.tags"
    own_tags, columns = [], []
    for index, entry in enumerate(_list(facet, "tags", at, 1_000)):
        place = f"{at}.tags[{index}]"
        key, value = _name(entry, "key", place), (_text(entry, "value", place) or "").strip()
        label = "" if value.lower() in ("true", key.lower()) else _CONTROL.sub(" ", value)
        tag = _tag(f"{key}:{label}" if label else key, f"{place}.key")
        path = _text(entry, "field", place)
        if path:
            _path(path, f"{place}.field")
            columns.append({"fieldPath": path, "globalTags": {"tags": [tag]}})
        else:
            own_tags.append(tag)
    if own_tags:
        yield AspectChange(urn, "globalTags", {"tags": own_tags})
    if columns:
        labels = _merge_columns({}, {"editableSchemaFieldInfo": columns})
        yield AspectChange(urn, "editableSchemaMetadata", labels)


_FIELD_TYPES: Final = (
    ("Array", r"array|list|repeated|set\b|_\w"),
    ("Map", r"map|dict"),
    ("Record", r"struct|record|row\b|row\(|object|json|variant|super|hstore|nested"),
    ("Boolean", r"bool"),
    ("Enum", r"enum"),
    ("Union", r"union"),
    ("Time", r"time|datetime|interval"),
    ("Date", r"date|year"),
    ("Bytes", r"binary|varbinary|blob|\w*blob\b|bytea|bytes|image|raw|bit\b"),
    ("Fixed", r"fixed"),
    (
        "Number",
        r"u?(?:big|small|tiny|medium|huge)?u?int|long|short|byte\b|num|dec|float|double|real|"
        r"(?:big|small)?serial|(?:small)?money|half",
    ),
    (
        "String",
        r"n?(?:var)?char|n?(?:tiny|medium|long)?text|string|n?clob|uuid|uniqueidentifier|xml|inet|"
        r"cidr|macaddr|citext|utf8|symbol",
    ),
)
_FIELD_TYPE: Final = re.compile("|".join(f"(?P<{name}>{words})" for name, words in _FIELD_TYPES))


@lru_cache(maxsize=2048)
def _field_type(native: str, *, has_fields: bool) -> Json:
    match = _FIELD_TYPE.match(native.strip().lower())
    if native.strip().endswith("[]"):
        kind = "Array"
    else:
        kind = (match.lastgroup if match else None) or ("Record" if has_fields else "Null")
    return {"type": {f"{_SCHEMA}{kind}Type": {}}}


def _fields(holder: Json, at: str, above: str = "", level: int = 0) -> Iterator[Json]:
    """Yield the columns of a schema, each followed by its nested columns, with dotted paths. They
    are ordered by `ordinal_position` if all on a level have one."""
    if level > _MOST_LEVELS:
        raise InvalidInput(f"{at}: is nested more than {_MOST_LEVELS} levels deep")
    listed = _list(holder, "fields", at)
    order: Sequence[int] = range(len(listed))
    if any("ordinal_position" in column for column in listed):
        places = [
            _count(column, "ordinal_position", f"{at}.fields[{i}]")
            for i, column in enumerate(listed)
        ]
        if all(place is not None for place in places):
            order = sorted(order, key=lambda index: places[index] or 0)
    for index in order:
        entry, place = listed[index], f"{at}.fields[{index}]"
        native = _text(entry, "type", place) or ""
        path = _path(above + _name(entry, "name", place), f"{place}.name")
        column: Json = {
            "fieldPath": path,
            "nullable": True,
            # The beginning and the last two characters are enough to determine the type.
            "type": _field_type(
                native[:98] + native[98:][-2:], has_fields=bool(entry.get("fields"))
            ),
            "nativeDataType": native,
            "recursive": False,
            "isPartOfKey": False,
        }
        if description := _text(entry, "description", place):
            column["description"] = description
        yield column
        yield from _fields(entry, place, f"{path}.", level + 1)


def _schema(
    urn: Urn, name: str, facets: Json, at: str, *, is_written: bool
) -> Iterator[AspectChange]:
    facet = _facet(facets, "schema", at)
    columns: dict[str, Json] = {}
    characters = 0
    for column in _fields(facet, f"{at}.schema"):
        characters += len(column["fieldPath"])
        if characters > _MOST_PATHS:
            raise InvalidInput(
                f"{at}.schema: the paths of its columns have more than {_MOST_PATHS} characters"
            )
        columns.setdefault(column["fieldPath"], column)
        if len(columns) > _MOST_COLUMNS:
            raise InvalidInput(f"{at}.schema: more than {_MOST_COLUMNS} columns")
    if columns:
        value = schema_value(name, urn.parts[0], list(columns.values()))
        # An event that reads the dataset, or has no types, may have only some of the columns.
        is_whole = is_written and any(column["nativeDataType"] for column in columns.values())
        yield AspectChange(urn, "schemaMetadata", value, ("columns",) if is_whole else ())


# --- Lineage --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Sources:
    """The upstream datasets and columns of one dataset."""

    dataset: Urn
    upstreams: dict[str, Urn] = field(default_factory=dict)
    fine: list[Json] = field(default_factory=list)
    pairs: int = 0

    def add(self, columns: Sequence[str], inputs: Iterable["_Input"]) -> None:
        """Add the inputs of some columns. An input without a column adds only its dataset; so do
        all inputs if `columns` is empty. Raises `InvalidInput` for too many pairs of columns."""
        upstreams: dict[str, None] = {}
        labels: dict[str, None] = {}
        described: dict[str, None] = {}
        for source in inputs:
            self.upstreams[str(source.dataset)] = source.dataset
            if source.column is not None and columns:
                upstreams[column_urn(source.dataset, source.column)] = None
                labels |= dict.fromkeys(source.labels)
                described |= dict.fromkeys(source.described)
        self.pairs += len(columns) * len(upstreams)
        if self.pairs > _MOST_PAIRS:
            raise InvalidInput(
                f"the lineage of {self.dataset.name} has more than {_MOST_PAIRS} pairs of columns"
            )
        if not upstreams:
            return
        downstreams = [column_urn(self.dataset, column) for column in columns]
        operation = ",".join(sorted(labels, key=str.lower))
        element: Json = {
            "upstreamType": "FIELD_SET",
            "upstreams": sorted(upstreams),
            "downstreamType": "FIELD" if len(downstreams) == 1 else "FIELD_SET",
            "downstreams": downstreams,
            "confidenceScore": 0.5,
        }
        if operation or described:
            element["transformOperation"] = "\n".join([operation, *described])[:2_000]
        self.fine.append(element)

    def change(self) -> Iterator[AspectChange]:
        """Yield the change of the dataset's `upstreamLineage`, if it has upstreams."""
        if not self.upstreams:
            return
        value: Json = {
            "upstreams": [
                {"dataset": upstream, "type": "TRANSFORMED"} for upstream in self.upstreams
            ]
        }
        if self.fine:
            value["fineGrainedLineages"] = self.fine
        yield AspectChange(self.dataset, "upstreamLineage", value)


class _Input(Struct, frozen=True):
    """An upstream dataset, or a column of it. `labels` are the transformations, such as
    `DIRECT:IDENTITY`, and `described` their descriptions."""

    dataset: Urn
    column: str | None
    labels: tuple[str, ...]
    described: tuple[str, ...]


def _input(source: Json, at: str, names: _Names) -> _Input:
    labels, described = [], []
    for index, how in enumerate(_list(source, "transformations", at, 100)):
        place = f"{at}.transformations[{index}]"
        parts = [_text(how, "type", place), _text(how, "subtype", place)]
        masks = ["MASKING"] if how.get("masking") is True else []
        labels.append(":".join([*(part for part in parts if part), *masks]))
        described.append(_text(how, "description", place))
    return _Input(
        names.find(source, at),
        _path(_text(source, "field", at) or "", f"{at}.field") or None,
        tuple(filter(None, labels)),
        tuple(filter(None, described)),
    )


def _column_lineage(sources: _Sources, facets: Json, at: str, names: _Names) -> None:
    facet, at = _facet(facets, "columnLineage", at), f"{at}.columnLineage"
    columns = _part(facet, "fields", at)
    for column, mapping in columns.items():
        if mapping is None:
            continue
        place = f"{at}.fields.{_path(column, f'{at}.fields')}"
        # The first versions of the facet have the transformation per column instead of per input.
        old = _text(_object(mapping, place), "transformationType", place)
        described = _text(mapping, "transformationDescription", place)
        sources_of_column = [
            _input(source, f"{place}.inputFields[{index}]", names)
            for index, source in enumerate(_list(mapping, "inputFields", place))
        ]
        if old or described:
            sources_of_column = [
                source
                if source.labels
                else _Input(source.dataset, source.column, (old or "",), (described or "",))
                for source in sources_of_column
            ]
        sources.add([column], sources_of_column)
    sources_of_all = [
        _input(source, f"{at}.dataset[{index}]", names)
        for index, source in enumerate(_list(facet, "dataset", at))
    ]
    sources.add(list(columns), sources_of_all)


# --- Datasets, jobs and runs ----------------------------------------------------------------------


# The facets of a dataset whose changes do not depend on the time of the event.
_LASTING: Final = frozenset(
    {
        "catalog",
        "columnLineage",
        "dataSource",
        "datasetType",
        "documentation",
        "hierarchy",
        "ownership",
        "schema",
        "storage",
        "tags",
        "version",
    }
)


def _is_lasting(dataset: Json) -> bool:
    """Return whether the changes of a dataset do not depend on the time of the event."""
    facets = dataset.get("facets") or {}
    has_own = dataset.get("inputFacets") or dataset.get("outputFacets")
    return not has_own and isinstance(facets, dict) and facets.keys() <= _LASTING


def _cache_key(kind: str, *parts: Any) -> bytes | None:
    """Return the cache key of parts of an event, or `None` if they have more than 64 KiB as JSON or
    cannot be encoded. `kind` says what is cached under it."""
    try:
        part = orjson.dumps((kind, *parts))
    except orjson.JSONEncodeError:
        return None
    return part if len(part) <= _MOST_REMEMBERED else None


class _DatasetChanges(Struct, frozen=True):
    """A dataset of an event with its changes; `fine` is its column-level lineage."""

    dataset: Urn
    changes: tuple[AspectChange, ...]
    fine: tuple[Json, ...]


Used = dict[str, list[tuple[Urn, Json]]]
"""The datasets of an event with their input or output facets, under `inputs` and `outputs`."""


@dataclass(slots=True)
class _Reader:
    """Parses one event and collects its changes."""

    event: Event
    memory: Memory
    run: str | None = None
    orchestrator: str = "unknown"
    links: bool = False
    names: _Names = field(init=False)

    def __post_init__(self) -> None:
        self.names = _Names(self.memory.instances)

    def add(self, urn: Urn, aspect: str, value: Json, drops: Iterable[str] = ()) -> None:
        self.event.changes.append(AspectChange(urn, aspect, value, tuple(drops)))

    def add_recurring(self, urn: Urn, aspect: str, value: Json) -> None:
        """Add a change of a run whose value also occurs in other runs; the value is one shared
        object."""
        part = _cache_key("aspect", aspect, value)
        memo: tuple[Json, Note] | None = self.memory.get(part)
        if memo is None and part is not None:
            memo = value, Note()
            self.memory.keep(part, memo)
        value, note = memo or (value, None)
        self.event.changes.append(AspectChange(urn, aspect, value, note=note))

    def alias(self, dataset: Json, at: str) -> None:
        """Record the URN of a dataset, for references to it elsewhere in the event. Sets `links` if
        the URN comes from a `symlinks` facet."""
        identifiers = (_name(dataset, "namespace", at), _name(dataset, "name", at))
        urn = self.names.make(*identifiers, at)
        if "symlinks" in _part(dataset, "facets", at):
            linked = _follow_symlink(dataset, at, self.names)
            self.links = self.links or linked is not urn
            urn = linked
        self.names.aliases[identifiers] = urn

    def dataset(self, dataset: Json, at: str, *, is_written: bool) -> "_DatasetChanges":
        """Add the changes of a dataset, with its lineage, and return them.

        `is_written` is true if the dataset is an output or the event is about the dataset itself.
        """
        lasts = not self.links and _is_lasting(dataset)
        part = _cache_key("dataset", dataset, is_written) if lasts else None
        dataset_changes: _DatasetChanges | None = self.memory.get(part)
        if dataset_changes is None:
            first_change = len(self.event.changes)
            sources = self._dataset(dataset, at, is_written=is_written)
            self.event.changes += sources.change()
            lineage_facet = _facet(_part(dataset, "facets", at), "lineage", f"{at}.facets")
            self.entry(sources.dataset, lineage_facet, f"{at}.facets.lineage")
            changes = self.event.changes[first_change:]
            del self.event.changes[first_change:]
            if part is not None:
                changes = [replace(change, recurs=True, note=Note()) for change in changes]
            dataset_changes = _DatasetChanges(sources.dataset, tuple(changes), tuple(sources.fine))
            characters = sum(
                len(column["fieldPath"])
                for change in changes
                if change.aspect == "schemaMetadata"
                for column in change.value["fields"]
            )
            self.event.path_characters += characters
            if self.event.path_characters > _MOST_PATHS:
                raise InvalidInput(
                    f"event: the paths of its columns have more than {_MOST_PATHS} characters up "
                    f"to {at}.facets.schema"
                )
            self.memory.keep(part, dataset_changes, characters)
        self.event.changes += dataset_changes.changes
        return dataset_changes

    def _dataset(self, dataset: Json, at: str, *, is_written: bool) -> _Sources:
        name = _name(dataset, "name", at)
        urn = self.names.aliases[_name(dataset, "namespace", at), name]
        if instance := self.names.instances_by_urn.get(urn):
            platform = urn.parts[0]
            instance_urn = str(Urn.of("dataPlatformInstance", platform, instance))
            self.add(urn, "dataPlatformInstance", {"platform": platform, "instance": instance_urn})
        facets, place = _facets(dataset, "facets", at), f"{at}.facets"
        change = self._lifecycle(urn, facets, place, is_written=is_written)
        properties, deleted_names = _properties(facets, place, "tags")
        described, undescribed = _documentation(facets, place)
        source = _text(_facet(facets, "dataSource", place), "uri", f"{place}.dataSource") or ""
        info: Json = {"customProperties": properties, **described}
        if source.startswith(("http://", "https://")):
            info["externalUrl"] = _open(source)
        levels = re.split(r"[/:]" if "/" in name else r"\.", name.rstrip("/"))
        info |= {"name": levels[-1] or name, "qualifiedName": name}
        self.add(urn, "datasetProperties", info, [*deleted_names, *undescribed])
        kind = _facet(facets, "datasetType", place)
        kinds = [_text(kind, key, f"{place}.datasetType") for key in ("datasetType", "subType")]
        names = [kind.replace("_", " ").title() for kind in kinds if kind]
        if names:
            self.add(urn, "subTypes", {"typeNames": names})
        self.event.changes += _schema(urn, name, facets, place, is_written=is_written)
        self.event.changes += _ownership(urn, facets, place)
        self.event.changes += _tags(urn, facets, place)
        inputs, outputs = _facets(dataset, "inputFacets", at), _facets(dataset, "outputFacets", at)
        for facet_group, where in ((facets, place), (inputs, f"{at}.inputFacets")):
            self._profile(urn, _facet(facet_group, "dataQualityMetrics", where), where)
            self._assertions(urn, _facet(facet_group, "dataQualityAssertions", where), where)
        facet = _facet(outputs, "outputStatistics", at)
        is_profiled = bool(_facet(facets, "dataQualityMetrics", place))
        self._operation(urn, facet, change, f"{at}.outputFacets", is_profiled=is_profiled)
        sources = _Sources(urn)
        _column_lineage(sources, facets, place, self.names)
        return sources

    def _lifecycle(self, urn: Urn, facets: Json, at: str, *, is_written: bool) -> str:
        """Add the `status` of a dataset that is written, dropped or renamed; return the change of
        its lifecycle state in upper case, empty if there is none."""
        facet, at = _facet(facets, "lifecycleStateChange", at), f"{at}.lifecycleStateChange"
        change = (_text(facet, "lifecycleStateChange", at) or "").upper()
        before = _part(facet, "previousIdentifier", at)
        if change == "RENAME" and before:
            old = self.names.find(before, f"{at}.previousIdentifier")
            if old != urn:
                self.add(old, "status", {"removed": True})
                self.event.renamed.append((old, urn))
        if change == "DROP":
            self.add(urn, "status", {"removed": True})
        elif is_written:
            self.add(urn, "status", {"removed": False})
        return change

    def _profile(self, urn: Urn, facet: Json, at: str) -> None:
        at = f"{at}.dataQualityMetrics"
        if not facet:
            return
        rows = _count(facet, "rowCount", at)
        columns = []
        for path, metrics in _part(facet, "columnMetrics", at).items():
            if metrics is None:
                continue
            place = f"{at}.columnMetrics.{_path(path, f'{at}.columnMetrics')}"
            column_metrics = _object(metrics, place)
            nulls, number = (
                _count(column_metrics, "nullCount", place),
                _number(column_metrics, "count", place),
            )
            total = _number(column_metrics, "sum", place)
            column: Json = {
                "fieldPath": path,
                "nullCount": nulls,
                "nullProportion": nulls / rows if nulls is not None and rows else None,
                "uniqueCount": _count(column_metrics, "distinctCount", place),
                "min": _shorten(_number(column_metrics, "min", place)),
                "max": _shorten(_number(column_metrics, "max", place)),
                "mean": _shorten(total / number) if total is not None and number else None,
            }
            quantiles = _part(column_metrics, "quantiles", place)
            column["quantiles"] = [
                {"quantile": at_share, "value": _shorten(_number(quantiles, at_share, place))}
                for at_share in quantiles
                if quantiles[at_share] is not None
            ] or None
            columns.append({key: value for key, value in column.items() if value is not None})
        value: Json = {
            "timestampMillis": _millis(facet, "captureDate", at) or self.event.at_millis,
            "rowCount": rows,
            "columnCount": len(columns) or None,
            "sizeInBytes": _count(facet, "bytes", at),
            "fieldProfiles": columns or None,
        }
        value = {key: content for key, content in value.items() if content is not None}
        if len(value) > 1:
            self.add(urn, "datasetProfile", value)
        files = _count(facet, "fileCount", at)
        updated = _millis(facet, "lastUpdated", at)
        additional_fields: Json = {
            "customProperties": {"fileCount": str(files)} if files is not None else {}
        }
        if updated is not None:
            additional_fields["lastModified"] = {"time": updated}
        if updated is not None or files is not None:
            self.add(urn, "datasetProperties", additional_fields)

    def _assertions(self, urn: Urn, facet: Json, at: str) -> None:
        at = f"{at}.dataQualityAssertions"
        for index, entry in enumerate(_list(facet, "assertions", at, 5_000)):
            place = f"{at}.assertions[{index}]"
            kind, column = _name(entry, "assertion", place), _text(entry, "column", place)
            success = entry.get("success")
            if not isinstance(success, bool):
                raise _wrong(f"{place}.success", "true or false", success)
            name = _text(entry, "name", place)
            key = orjson.dumps([PIPELINE, str(urn), kind, column or "", name or ""])
            assertion = Urn("assertion", (md5(key, usedforsecurity=False).hexdigest(),))
            info = _assertion(urn, kind, column) | {
                "nativeParameters": {
                    parameter: _json(value, f"{place}.params.{parameter}")
                    for parameter, value in _part(entry, "params", place).items()
                    if value is not None
                },
            }
            if logic := _text(entry, "content", place):
                info["logic"] = _open(logic)
            texts = {
                key: _open(text)
                for key in ("name", "severity", "contentType")
                if (text := _text(entry, key, place))
            }
            where = f" of {column}" if column else ""
            value: Json = {
                "type": "DATASET",
                "datasetAssertion": info,
                "customProperties": texts,
                "source": {"type": "EXTERNAL"},
                "description": _text(entry, "description", place) or name or f"{kind}{where}",
            }
            self.add(assertion, "assertionInfo", value)
            platform = f"urn:li:dataPlatform:{self.orchestrator.translate(_RESERVED)}"
            self.add(assertion, "dataPlatformInstance", {"platform": platform})
            results = {
                key: _open(text)
                for key in ("expected", "actual", "severity")
                if (text := _text(entry, key, place))
            }
            result: Json = {"type": "SUCCESS" if success else "FAILURE"}
            if results:
                result["nativeResults"] = results
            ran = {
                "timestampMillis": self.event.at_millis,
                "runId": self.run or self.event.run,
                "asserteeUrn": str(urn),
                "assertionUrn": str(assertion),
                "status": "COMPLETE",
                "result": result,
            }
            self.add(assertion, "assertionRunEvent", ran)

    def _operation(self, urn: Urn, facet: Json, change: str, at: str, *, is_profiled: bool) -> None:
        """Add the `operation` of a dataset if the event has output statistics or a change of state.
        After `CREATE` or `OVERWRITE`, the statistics are also a profile, unless there is one."""
        at = f"{at}.outputStatistics"
        rows, size = _count(facet, "rowCount", at), _count(facet, "size", at)
        files = _count(facet, "fileCount", at)
        if not change and rows is None and size is None and files is None:
            return
        at_millis = self.event.at_millis
        numbers = {"size": size, "fileCount": files, "lifecycleStateChange": change or None}
        value: Json = {
            "timestampMillis": at_millis,
            "operationType": _OPERATIONS.get(change, "CUSTOM"),
            "sourceType": "DATA_PROCESS",
            "lastUpdatedTimestamp": at_millis,
            "customProperties": {
                key: str(number) for key, number in numbers.items() if number is not None
            },
        }
        if value["operationType"] == "CUSTOM":
            value["customOperationType"] = change
        if self.run:
            value["messageId"] = self.run
        if rows is not None:
            value["numAffectedRows"] = rows
        self.add(urn, "operation", value)
        if change in ("CREATE", "OVERWRITE") and not is_profiled:
            profile = {"rowCount": rows, "sizeInBytes": size}
            profile_fields = {key: number for key, number in profile.items() if number is not None}
            if profile_fields:
                self.add(urn, "datasetProfile", {"timestampMillis": at_millis, **profile_fields})

    def job(self, job: Json, at: str, more: Json) -> None:
        """Add the changes of the event's job; `more` are the facets of the run."""
        tools = [more.get(key) for key in ("processing_engine", "airflow", "airflowDagRun")]
        part = None
        if "lineage" not in (job.get("facets") or {}):
            part = _cache_key("job", self.orchestrator, job, tools)
        changes: tuple[AspectChange, ...] | None = self.memory.get(part)
        if changes is None:
            first_change = len(self.event.changes)
            self._job_itself(job, at, more)
            new_changes = self.event.changes[first_change:]
            del self.event.changes[first_change:]
            changes = tuple(
                replace(change, recurs=True, note=Note()) if part else change
                for change in new_changes
            )
            self.memory.keep(part, changes)
        self.event.changes += changes

    def _job_itself(self, job: Json, at: str, run_facets: Json) -> None:
        urn = self.event.job
        assert urn is not None  # noqa: S101 - set before
        flow = _flow(urn)
        facets, place = _facets(job, "facets", at), f"{at}.facets"
        properties, deleted_names = _properties(facets, place, "tags")
        engine = _facet(run_facets, "processing_engine", "run.facets")
        tool = _properties({"processing_engine": engine} if engine else {}, "run.facets")[0]
        source = "airflow" if run_facets.get("airflow") else "airflowDagRun"
        airflow, where = _facet(run_facets, source, "run.facets"), f"run.facets.{source}"
        # The facet is not in the specification and may have any shape.
        parts = [airflow.get(key) for key in ("dag", "task")]
        dag, task = (part if isinstance(part, dict) else {} for part in parts)
        described, undescribed = _documentation(facets, place)
        name = _name(job, "name", at)
        flow_info: Json = {
            "name": name.partition(".")[0] or name,
            "customProperties": _scalars(dag, f"{where}.dag") | tool,
        }
        description = dag.get("description") or (
            "" if "." in name else described.get("description")
        )
        if isinstance(description, str) and description:
            flow_info["description"] = description
        self.add(flow, "dataFlowInfo", flow_info)
        info: Json = {
            "name": name.partition(".")[2] or name,
            "type": {"string": self.orchestrator},
            "flowUrn": str(flow),
            "customProperties": properties | tool | _scalars(task, f"{where}.task"),
            **described,
        }
        location = _facet(facets, "sourceCodeLocation", place)
        url = _text(location, "url", f"{place}.sourceCodeLocation") or ""
        if url.startswith(("http://", "https://")):
            info["externalUrl"] = _open(url)
        self.add(urn, "dataJobInfo", info, [*deleted_names, *undescribed])
        query = _text(_facet(facets, "sql", place), "query", f"{place}.sql")
        if query and query.strip():
            statement = {"value": _statement(query), "language": "SQL"}
            self.add(urn, "dataTransformLogic", {"transforms": [{"queryStatement": statement}]})
        for entity in (flow, urn):
            self.add(entity, "status", {"removed": False})
        self.event.changes += _ownership(urn, facets, place)
        self.event.changes += _ownership(flow, facets, place)
        self.event.changes += _tags(urn, facets, place)
        tags = _airflow_tags(dag)
        if tags:
            self.add(
                flow,
                "globalTags",
                {"tags": [_tag(tag, f"{where}.dag.tags") for tag in tags]},
            )
        self.lineage(_facet(facets, "lineage", place), f"{place}.lineage")

    def inputs_and_outputs(self, event: Json) -> Used:
        """Add the datasets of an event and the lineage of its job. Return the datasets."""
        sides = {
            side: _list(event, side, "event", _MOST_DATASETS) for side in ("inputs", "outputs")
        }
        listed = [*sides["inputs"], *sides["outputs"]]
        part = None
        if self.event.job is not None and all(map(_is_lasting, listed)):
            part = _cache_key("datasets", str(self.event.job), sides)
        memo: tuple[Used, list[AspectChange]] | None = self.memory.get(part)
        if memo is None:
            first_change = len(self.event.changes)
            used_datasets = self._inputs_and_outputs(sides, recurs=part is not None)
            memo = used_datasets, self.event.changes[first_change:]
            del self.event.changes[first_change:]
            self.memory.keep(part, memo)
        used_datasets, changes = memo
        self.event.changes += changes
        return used_datasets

    def _inputs_and_outputs(self, sides: dict[str, list[Json]], *, recurs: bool) -> Used:
        """Do the work of `inputs_and_outputs` for datasets that are not cached. `recurs` says
        whether the job's lineage is the same in later events."""
        for side, listed in sides.items():
            for index, listed_dataset in enumerate(listed):
                self.alias(listed_dataset, f"{side}[{index}]")
        used_datasets: Used = {}
        changes_by_side: dict[str, list[_DatasetChanges]] = {}
        for side, facets in (("inputs", "inputFacets"), ("outputs", "outputFacets")):
            changes_by_side[side] = [
                self.dataset(dataset, f"{side}[{index}]", is_written=side == "outputs")
                for index, dataset in enumerate(sides[side])
            ]
            used_datasets[side] = [
                (changes.dataset, _facets(dataset, facets, f"{side}[{index}]"))
                for index, (changes, dataset) in enumerate(
                    zip(changes_by_side[side], sides[side], strict=True)
                )
            ]
        if self.event.job is not None and (changes_by_side["inputs"] or changes_by_side["outputs"]):
            value = _input_output()
            for key, side in (("inputDatasetEdges", "inputs"), ("outputDatasetEdges", "outputs")):
                if changes_by_side[side]:
                    datasets = dict.fromkeys(changes.dataset for changes in changes_by_side[side])
                    value[key] = [_edge(dataset) for dataset in datasets]
            if fine := [
                element
                for changes in (*changes_by_side["inputs"], *changes_by_side["outputs"])
                for element in changes.fine
            ]:
                value["fineGrainedLineages"] = fine
            note = Note() if recurs else None
            self.event.changes.append(
                AspectChange(self.event.job, "dataJobInputOutput", value, recurs=recurs, note=note)
            )
        return used_datasets

    def lineage(self, facet: Json, at: str) -> None:
        """Add the lineage in the `lineage` facet of a job or run."""
        for index, entry in enumerate(_list(facet, "entries", at, _MOST_DATASETS)):
            place = f"{at}.entries[{index}]"
            if (_text(entry, "type", place) or "DATASET").upper() == "DATASET":
                self.entry(self.names.find(entry, place), entry, place)
                continue
            job = self._job(entry, place)
            for number, source in enumerate(_list(entry, "inputs", place)):
                self._feed(job, source, f"{place}.inputs[{number}]")

    def _job(self, reference: Json, at: str) -> Urn:
        """Return a job that a lineage facet refers to, or the event's job if it has no name."""
        if reference.get("name") is None and self.event.job is not None:
            return self.event.job
        return _job_urn(reference, self.orchestrator, at)

    def _feed(self, job: Urn, source: Json, at: str) -> None:
        """Add a dataset or another job as an input of a job; the job itself is ignored."""
        is_job = (_text(source, "type", at) or "DATASET").upper() == "JOB"
        urn = self._job(source, at) if is_job else self.names.find(source, at)
        if urn == job:
            return
        edges = [_edge(urn)]
        key = "inputDatajobEdges" if is_job else "inputDatasetEdges"
        self.add(job, "dataJobInputOutput", _input_output() | {key: edges})

    def entry(self, dataset: Urn, entry: Json, at: str) -> None:
        """Add the lineage of a dataset and its columns. An input that is a job has the dataset as
        an output."""
        sources = _Sources(dataset)
        for path, mapping in (None, entry), *_part(entry, "fields", at).items():
            if mapping is None:
                continue
            place = at if path is None else f"{at}.fields.{_path(path, f'{at}.fields')}"
            inputs = []
            for index, source in enumerate(_list(_object(mapping, place), "inputs", place)):
                where = f"{place}.inputs[{index}]"
                if (_text(source, "type", where) or "DATASET").upper() != "JOB":
                    inputs.append(_input(source, where, self.names))
                    continue
                edges = [_edge(dataset)]
                io_value = _input_output() | {"outputDatasetEdges": edges}
                self.add(self._job(source, where), "dataJobInputOutput", io_value)
            sources.add([path] if path is not None else list(_part(entry, "fields", at)), inputs)
        self.event.changes += sources.change()

    def process(self, event: Json, facets: Json, kind: str | None, used: Used) -> None:
        """Add the changes of the event's run."""
        urn, at_millis, run = _instance(self.run or ""), self.event.at_millis, self.run or ""
        properties, deleted_names = _properties(facets, "run.facets", memory=self.memory)
        nominal = _facet(facets, "nominalTime", "run.facets")
        for name in ("nominalStartTime", "nominalEndTime"):
            _millis(nominal, name, "run.facets.nominalTime")
        part = _part(_part(event, "job", "event"), "facets", "job")
        job_type = _facet(part, "jobType", "job.facets")
        processing = _text(job_type, "processingType", "job.facets.jobType") or ""
        value: Json = {
            "name": run,
            "type": "STREAMING"
            if processing.upper() in ("STREAMING", "SERVICE")
            else "BATCH_SCHEDULED"
            if nominal
            else _UNPLANNED,
            "created": _stamp(at_millis),
            "customProperties": properties,
        }
        log = _facet(facets, "airflow", "run.facets").get("taskInstance")
        url = log.get("log_url") if isinstance(log, dict) else None
        if isinstance(url, str) and url.startswith(("http://", "https://")):
            value["externalUrl"] = _open(url)
        self.add(urn, "dataProcessInstanceProperties", value, deleted_names)
        relations: Json = {"parentTemplate": str(self.event.job), "upstreamInstances": []}
        if self.event.parent_run is not None:
            relations["parentInstance"] = str(self.event.parent_run)
        relations["upstreamInstances"] = self._dependencies(facets, urn)
        self.add_recurring(urn, "dataProcessInstanceRelationships", relations)
        for side, aspect, facet in (
            ("inputs", "dataProcessInstanceInput", "inputStatistics"),
            ("outputs", "dataProcessInstanceOutput", "outputStatistics"),
        ):
            if not used[side]:
                continue
            edges = []
            for dataset, side_facets in used[side]:
                if not side_facets:
                    continue
                numbers = _facet(side_facets, facet, side)
                counted = {
                    name: str(number)
                    for name in ("rowCount", "size", "fileCount")
                    if (number := _count(numbers, name, f"{side}.{facet}")) is not None
                }
                if counted:
                    edges.append(_edge(dataset) | {"properties": counted})
            urns = list(dict.fromkeys(str(dataset) for dataset, _ in used[side]))
            edge_name = side.removesuffix("s") + "Edges"
            if edges:
                self.add(urn, aspect, {side: urns, edge_name: edges})
            else:
                self.add_recurring(urn, aspect, {side: urns})
        if kind in _RESULTS:
            ran: Json = {"timestampMillis": at_millis, "messageId": kind, "status": "STARTED"}
            result = _RESULTS[kind]
            if result:
                ran["status"] = "COMPLETE"
                ran["result"] = {"type": result, "nativeResultType": kind}
            self.add(urn, "dataProcessInstanceRunEvent", ran)

    def _dependencies(self, facets: Json, run: Urn) -> list[str]:
        """Add the edges to the jobs that precede and follow this one, and to the runs that follow
        it. Return the URNs of the runs that precede it."""
        at, before = "run.facets.jobDependencies", []
        facet = _facet(facets, "jobDependencies", "run.facets")
        for side in ("upstream", "downstream"):
            for index, dependency in enumerate(_list(facet, side, at, _MOST_DATASETS)):
                place = f"{at}.{side}[{index}]"
                urn = _job_urn(_part(dependency, "job", place), self.orchestrator, f"{place}.job")
                part = _part(dependency, "run", place)
                other_run = _instance(_run_id(part, f"{place}.run")) if part else None
                own_job = self.event.job
                if own_job is None or urn == own_job:
                    continue
                first, second = (urn, own_job) if side == "upstream" else (own_job, urn)
                edges = [_edge(first)]
                self.add(
                    second, "dataJobInputOutput", _input_output() | {"inputDatajobEdges": edges}
                )
                if other_run is not None and side == "upstream":
                    before.append(str(other_run))
                elif other_run is not None:
                    after = {"upstreamInstances": [str(run)]}
                    self.add(other_run, "dataProcessInstanceRelationships", after)
        return before


_UNPLANNED: Final = "BATCH_AD_HOC"
# The result of a run by type of event, `None` while it continues.
_RESULTS: Final = {
    "START": None,
    "RUNNING": None,
    "COMPLETE": "SUCCESS",
    "FAIL": "FAILURE",
    "ABORT": "FAILURE",
}
_OPERATIONS: Final = {
    "": "INSERT",
    "ALTER": "ALTER",
    "CREATE": "CREATE",
    "DROP": "DROP",
    "OVERWRITE": "UPDATE",
    "RENAME": "ALTER",
    "TRUNCATE": "DELETE",
}


def _shorten(number: float | None) -> str | None:
    return None if number is None else repr(number)


def _assertion(dataset: Urn, kind: str, column: str | None) -> Json:
    """Return the `datasetAssertion` of an `assertionInfo`. The operator and aggregation are those
    of known kinds of tests, otherwise `_NATIVE_`."""
    value: Json = {
        "dataset": str(dataset),
        "scope": "DATASET_COLUMN" if column else "DATASET_ROWS",
        "operator": "_NATIVE_",
        "aggregation": "_NATIVE_",
        "nativeType": kind,
    }
    if column:
        value["fields"] = [column_urn(dataset, column)]
    name = kind.lower()
    if name in ("not_null", "expect_column_values_to_not_be_null"):
        value |= {"operator": "NOT_NULL", "aggregation": "IDENTITY"}
    elif name in ("unique", "expect_column_values_to_be_unique"):
        parameters = {"value": {"value": "1.0", "type": "NUMBER"}}
        value |= {
            "operator": "EQUAL_TO",
            "aggregation": "UNIQUE_PROPOTION",
            "parameters": parameters,
        }
    elif name in ("accepted_values", "expect_column_values_to_be_in_set"):
        value |= {"operator": "IN", "aggregation": "IDENTITY"}
    return value


def _scalars(holder: Json, at: str) -> dict[str, str]:
    """Return the scalar values of an object as properties, as DataHub does for Airflow, without
    `tags` and `description`."""
    return {
        key[:200]: _json(value, f"{at}.{key}")
        for key, value in _redact(holder, at).items()
        if isinstance(value, str | int | float) and key not in ("tags", "description")
    }


def _airflow_tags(dag: Json) -> list[str]:
    """Return the tags of a DAG, given as a list or as the text of a Python list."""
    tags = dag.get("tags")
    if isinstance(tags, str):
        tags = re.findall(r"'([^']+)'|\"([^\"]+)\"", tags)
        tags = [single or double for single, double in tags]
    listed = tags if isinstance(tags, list) else []
    names = (_CONTROL.sub(" ", name).strip() for name in listed if isinstance(name, str))
    return [name[:200] for name in names if name]


_IN_FACETS: Final = re.compile(
    r"(run|job|dataset|(?:inputs|outputs)\[\d+\])\.(facets|inputFacets|outputFacets)\."
)


def read_event(event: Any, memory: Memory | None = None) -> Event:
    """Parse a RunEvent, a JobEvent or a DatasetEvent into its changes. Parts that recur in events
    parsed with the same memory are parsed once.

    A malformed facet is left out, up to 20 of them. Raises `InvalidInput` naming another field that
    is missing or invalid.
    """
    memory = Memory() if memory is None else memory
    ignored: list[str] = []
    while True:
        try:
            parsed_event = _read_event(event, memory)
        except InvalidInput as error:
            event = _without_facet(event, str(error)) if len(ignored) < _MOST_IGNORED else None
            if event is None:
                raise
            ignored.append(str(error))
        else:
            parsed_event.ignored = tuple(ignored)
            return parsed_event


def _without_facet(event: Json, problem: str) -> Json | None:
    """Return the event without the facet that a problem names, `None` if it names none."""
    match = _IN_FACETS.match(problem)
    if match is None:
        return None
    (owner, container), rest = match.groups(), problem[match.end() :]
    side, _, index = owner.rstrip("]").partition("[")
    holder = event[side][int(index)] if index else event[side]
    keys = [key for key in holder[container] if re.match(rf"{re.escape(key)}[.:\[]", rest)]
    if not keys:
        return None
    malformed = max(keys, key=len)
    facets = {key: facet for key, facet in holder[container].items() if key != malformed}
    changed = {**holder, container: facets}
    if not index:
        return {**event, side: changed}
    listed = list(event[side])
    listed[int(index)] = changed
    return {**event, side: listed}


def _read_event(event: Any, memory: Memory) -> Event:
    if not isinstance(event, dict):
        raise InvalidInput(f"an event is an object, not {_kind(event)}")
    at_millis = _millis(event, "eventTime", "event")
    if at_millis is None:
        raise InvalidInput("event.eventTime: is required, and is a time: 2024-05-01T12:00:00Z")
    producer = _text(event, "producer", "event")
    schema = _text(event, "schemaURL", "event") or ""
    kind = _text(event, "eventType", "event")
    if kind is not None and kind not in _TYPES:
        raise InvalidInput(
            f"event.eventType: expected one of {', '.join(_TYPES)}, found {kind!r:.60}"
        )
    is_run = event.get("run") is not None or kind is not None or schema.endswith("/RunEvent")
    if is_run:
        return _run_event(event, at_millis, kind, producer, memory)
    day = datetime.fromtimestamp(at_millis / 1000, UTC).strftime("%Y-%m-%d")
    parsed_event = Event(f"{PIPELINE}-{day}", at_millis, memory=memory)
    reader = _Reader(parsed_event, memory)
    if event.get("dataset") is not None:
        dataset = _object(event["dataset"], "dataset")
        reader.alias(dataset, "dataset")
        reader.orchestrator = _orchestrator(producer=producer)
        reader.dataset(dataset, "dataset", is_written=True)
    elif event.get("job") is not None:
        job = _object(event["job"], "job")
        reader.orchestrator = _orchestrator(_integration(job), producer=producer)
        parsed_event.job = _job_urn(job, reader.orchestrator, "job")
        reader.inputs_and_outputs(event)
        reader.job(job, "job", {})
    else:
        raise InvalidInput("an event has a run and a job, a job, or a dataset; this one has none")
    parsed_event.changes = _combine(parsed_event.changes)
    return parsed_event


def _integration(job: Json) -> str | None:
    facet = _facet(_part(job, "facets", "job"), "jobType", "job.facets")
    return _text(facet, "integration", "job.facets.jobType")


def _run_event(
    event: Json, at_millis: int, kind: str | None, producer: str | None, memory: Memory
) -> Event:
    for name in ("run", "job"):
        if event.get(name) is None:
            raise InvalidInput(f"event.{name}: is required in an event about a run")
    run, job = _object(event["run"], "run"), _object(event["job"], "job")
    parsed_event = Event(_run_id(run, "run"), at_millis, memory=memory)
    facets = _facets(run, "facets", "run")
    engine = _facet(facets, "processing_engine", "run.facets")
    text = _text(engine, "name", "run.facets.processing_engine")
    orchestrator = _orchestrator(_integration(job), text, producer=producer)
    reader = _Reader(parsed_event, memory, parsed_event.run, orchestrator)
    parsed_event.job = _job_urn(job, orchestrator, "job")
    parent = _facet(facets, "parent", "run.facets")
    if parent:
        at = "run.facets.parent"
        parsed_event.parent_run = _instance(_run_id(_part(parent, "run", at), f"{at}.run"))
        above = _part(parent, "job", at)
        integration = _integration(above)
        parent_producer = _text(parent, "_producer", at)
        parsed_event.parent_job = _job_urn(
            above, _orchestrator(integration, producer=parent_producer or producer), f"{at}.job"
        )
    used_datasets = reader.inputs_and_outputs(event)
    reader.job(job, "job", facets)
    reader.lineage(_facet(facets, "lineage", "run.facets"), "run.facets.lineage")
    reader.process(event, facets, kind, used_datasets)
    parsed_event.changes = _combine(parsed_event.changes)
    return parsed_event


_EDGES: Final = frozenset(
    {"inputDatasetEdges", "outputDatasetEdges", "inputDatajobEdges", "upstreams"}
)
# Aspects whose values are lists, to which changes append.
_LISTS: Final = frozenset(
    {
        "dataJobInputOutput",
        "editableSchemaMetadata",
        "globalTags",
        "ownership",
        "schemaMetadata",
        "upstreamLineage",
    }
)


def _combine(changes: Iterable[AspectChange]) -> list[AspectChange]:
    """Return the changes, with those of list aspects at the end, grouped by aspect.

    More than four changes of a list aspect are combined into one, because each addition scans the
    stored list again. Raises `InvalidInput` for too many edges.
    """
    apart: list[AspectChange] = []
    parts: dict[tuple[Urn, str], list[AspectChange]] = {}
    edges = 0
    for change in changes:
        if change.aspect not in _LISTS:
            apart.append(change)
            continue
        parts.setdefault((change.urn, change.aspect), []).append(change)
        edges += sum(len(change.value[key]) for key in change.value.keys() & _EDGES)
    if edges > _MOST_EDGES:
        raise InvalidInput(
            f"event: {edges} edges between datasets and jobs are more than the {_MOST_EDGES} taken "
            "of one event; send it in parts"
        )
    for part in parts.values():
        if len(part) <= _MOST_APART:
            apart += part
            continue
        # A complete schema supersedes those before it.
        complete_indexes = [index for index, change in enumerate(part) if change.drops]
        value: Json = {}
        for change_of_part in part[complete_indexes[-1] if complete_indexes else 0 :]:
            for key, addition in change_of_part.value.items():
                if not isinstance(addition, list):
                    value.setdefault(key, addition)
                elif key in value:
                    value[key] += addition
                else:
                    value[key] = list(addition)
        drops = ("columns",) if complete_indexes else ()
        change = replace(part[0], value=value, drops=drops, recurs=False, note=None)
        if not change.value.keys() & (_EDGES | {"inputDatasets"}):
            # Remove duplicate owners, tags and columns.
            change = replace(change, value=merge_change(change, None, 0, is_own=True))
        apart.append(change)
    return apart


# --- Adding to stored values ----------------------------------------------------------------------


def merge_change(
    change: AspectChange,
    stored: Json | None,
    at_millis: int,
    *,
    is_own: bool,
    is_late: bool = False,
) -> Json:
    """Return the stored value of an aspect with a change added; equal to it if nothing is new.

    `stored` is `None` if the aspect does not exist. `at_millis` is the time of the change. `is_own`
    is true if events wrote the stored value, and `is_late` if an event of a later time did: then
    the change only adds missing values, and replaces nothing.
    """
    value = change.value
    if stored is None:
        stored = {}
    match change.aspect:
        case "dataJobInputOutput" | "upstreamLineage":
            return _merge_lineage(stored, value, at_millis)
        case "dataFlowInfo" | "dataJobInfo" | "datasetProperties" | "dataProcessInstanceProperties":
            return _merge_info(change, stored, at_millis, is_own=is_own, is_late=is_late)
        case "dataProcessInstanceInput" | "dataProcessInstanceOutput":
            return _merge_lineage(stored, value, at_millis)
        case "dataProcessInstanceRelationships":
            merged_list = _extend_list(
                stored.get("upstreamInstances"), value["upstreamInstances"], ""
            )
            merged = {**value, **stored} if is_late else {**stored, **value}
            return {**merged, "upstreamInstances": merged_list}
        case "ownership":
            return {
                **stored,
                "owners": _extend_list(stored.get("owners"), value["owners"], "owners"),
            }
        case "globalTags":
            return {**stored, "tags": _extend_list(stored.get("tags"), value["tags"], "tags")}
        case "editableSchemaMetadata":
            return _merge_columns(stored, value)
        case "schemaMetadata":
            if is_late and change.drops:
                return stored
            # A schema read by another source may have columns that events do not have.
            return _merge_schema(stored, value, is_whole=bool(change.drops) and is_own)
        case "status":
            # A dataset that was not hidden by an event stays hidden; one dropped by an event is
            # restored.
            is_hidden_by_others = stored and not is_own and not value["removed"]
            return stored if is_late or is_hidden_by_others else value
        case "subTypes" | "dataPlatformInstance":
            return stored or value
        case _:
            return stored if is_late else value


def leave_out_removed(
    change: AspectChange, stored: Json, versions: Callable[[], Iterable[tuple[Json, bool]]]
) -> AspectChange:
    """Return a change of an aspect in `GIVEN` without the owners and tags that somebody has
    removed.

    `versions` reads the past values of the aspect, oldest first, each with whether it was written
    by a source that names its pipeline; values that such a source omits do not count as removed.
    """
    lacking = set(_identifiers(change.value)) - set(_identifiers(stored))
    if not lacking:
        return change
    present: set[Any] = set()
    removed_identities: set[Any] = set()
    for value, is_of_pipeline in versions():
        now = set(_identifiers(value))
        if not is_of_pipeline:
            removed_identities |= present - now
        removed_identities -= now
        present = now
    removed_identities &= lacking
    if not removed_identities:
        return change
    value = dict(change.value)
    for key in ("owners", "tags"):
        if key in value:
            value[key] = [
                entry for entry in value[key] if _identity(entry, key) not in removed_identities
            ]
    if columns := value.get("editableSchemaFieldInfo"):
        value["editableSchemaFieldInfo"] = remaining_columns = []
        for column in columns:
            tags = column["globalTags"]["tags"]
            remaining_tags = [
                tag for tag in tags if (column["fieldPath"], tag["tag"]) not in removed_identities
            ]
            if remaining_tags:
                remaining_columns.append({**column, "globalTags": {"tags": remaining_tags}})
    return replace(change, value=value, recurs=False, note=None)


def _identifiers(value: Json) -> Iterator[Any]:
    """Yield an identifier of each owner and tag, and of each column's tag."""
    for key in ("owners", "tags"):
        yield from (_identity(entry, key) for entry in value.get(key) or ())
    for column in value.get("editableSchemaFieldInfo") or ():
        for tag in (column.get("globalTags") or {}).get("tags") or ():
            yield column.get("fieldPath"), tag.get("tag")


def _identity(entry: Any, name: str) -> Any:
    if not isinstance(entry, dict):
        return entry
    match name:
        case "owners":
            return entry.get("owner"), entry.get("type")
        case "tags":
            return entry.get("tag")
        case "upstreams":
            return entry.get("dataset")
        case _:
            return entry.get("destinationUrn")


def _extend_list(stored: Any, additions: list[Any], name: str, at_millis: int = 0) -> list[Any]:
    """Return a stored list with the elements of `additions` that it lacks. The time of a stored
    edge is updated if it is at least a day old or the added edge has more properties."""
    listed = list(stored) if isinstance(stored, list) else []
    places = {_identity(entry, name): index for index, entry in enumerate(listed)}
    for addition in additions:
        at = places.setdefault(_identity(addition, name), len(listed))
        is_edge = name.endswith("Edges")
        if at == len(listed):
            additional_fields: Json = {}
            if is_edge:
                additional_fields = {"lastModified": _stamp(at_millis)}
            elif name == "upstreams":
                additional_fields = {"auditStamp": _stamp(at_millis)}
            listed.append({**additional_fields, **addition} if additional_fields else addition)
        elif is_edge:
            before = listed[at]
            time = (before.get("lastModified") or {}).get("time", 0)
            says_more = not addition.items() <= before.items()
            if says_more or at_millis >= time + _DAY_MILLIS:
                moment = {"lastModified": _stamp(max(time, at_millis))}
                listed[at] = {**before, **addition, **moment}
    return listed


def _merge_lineage(stored: Json, additions: Json, at_millis: int) -> Json:
    value = dict(stored)
    for key, addition in additions.items():
        if key == "fineGrainedLineages":
            value[key] = _merge_column_lineage(stored.get(key) or [], addition)
        else:
            value[key] = _extend_list(stored.get(key), addition, key, at_millis)
    return value


def _merge_column_lineage(stored: list[Json], additions: list[Json]) -> list[Json]:
    """Return stored column lineage with other lineage added. Upstream columns are added to the
    entry with the same downstream columns and the same operation, if there is one."""
    value = list(stored)
    places = {_fine_key(entry): index for index, entry in enumerate(value)}
    columns: dict[int, dict[str, None]] = {}
    for addition in additions:
        at = places.setdefault(_fine_key(addition), len(value))
        if at == len(value):
            value.append(addition)
            continue
        if at not in columns:
            columns[at] = dict.fromkeys(value[at].get("upstreams") or ())
        columns[at] |= dict.fromkeys(addition["upstreams"])
    for at, upstreams in columns.items():
        if len(upstreams) > len(value[at].get("upstreams") or ()):
            value[at] = {**value[at], "upstreams": list(upstreams)}
    return value


def _fine_key(entry: Json) -> tuple[tuple[str, ...], str]:
    operation = (entry.get("transformOperation") or "").partition("\n")[0]
    return tuple(sorted(entry.get("downstreams") or ())), operation


def _merge_info(
    change: AspectChange, stored: Json, at_millis: int, *, is_own: bool, is_late: bool
) -> Json:
    addition = change.value
    properties = dict(stored.get("customProperties") or {})
    drops = frozenset() if is_late else frozenset(change.drops)
    for name in [key for key in properties if drops and not drops.isdisjoint(_beginnings(key))]:
        del properties[name]
    for name, text in addition.get("customProperties", {}).items():
        if name in properties:
            properties[name] = properties[name] if is_late else text
        elif len(properties) < _MOST_PROPERTIES:
            properties[name] = text
    value = {**addition, **stored} if is_late else {**stored, **addition}
    value["customProperties"] = properties
    if "description" in drops and is_own:
        value.pop("description", None)
    # Stored names are kept: another source may have written them.
    first = ["name", "qualifiedName"] if change.aspect == "datasetProperties" else []
    for name in first:
        if stored.get(name):
            value[name] = stored[name]
    if addition.get("type") == _UNPLANNED and stored.get("type"):
        # An earlier event said that the run is scheduled or streaming.
        value["type"] = stored["type"]
    if change.aspect in ("dataJobInfo", "dataProcessInstanceProperties"):
        # The earliest event says when a job or run was created.
        before = stored.get("created")
        if before and before.get("time", 0) <= at_millis:
            value["created"] = before
        else:
            value["created"] = {**(addition.get("created") or {}), "time": at_millis}
    return value


def _beginnings(name: str) -> Iterator[str]:
    """Yield a name, then each prefix of it that ends before a dot, longest first."""
    yield name
    at = name.rfind(".")
    while at > 0:
        yield name[:at]
        at = name.rfind(".", 0, at)


def _merge_columns(stored: Json, additions: Json) -> Json:
    tags: dict[str, list[Json]] = {}
    for column in additions["editableSchemaFieldInfo"]:
        tags.setdefault(column["fieldPath"], []).extend(column["globalTags"]["tags"])
    listed = list(stored.get("editableSchemaFieldInfo") or ())
    for at, stored_column in enumerate(listed):
        labels = stored_column.get("globalTags") or {}
        if more := tags.pop(stored_column.get("fieldPath"), None):
            labels = {**labels, "tags": _extend_list(labels.get("tags"), more, "tags")}
            listed[at] = {**stored_column, "globalTags": labels}
    for path, more in tags.items():
        listed.append({"fieldPath": path, "globalTags": {"tags": _extend_list(None, more, "tags")}})
    return {**stored, "editableSchemaFieldInfo": listed}


_UNTYPED: Final[Json] = {"type": {f"{_SCHEMA}NullType": {}}}
_SAID: Final = ("fieldPath", "type", "nativeDataType", "description")


def _has_few_brackets(path: Any) -> bool:
    """Return whether a path has few enough brackets to be parsed quickly."""
    return isinstance(path, str) and path.count("[") <= _MOST_LEVELS


def _merge_schema(stored: Json, addition: Json, *, is_whole: bool) -> Json:
    """Return the stored schema with the columns of an event; with `is_whole`, other columns are
    removed. Properties that events do not contain, such as keys, labels and nullability, are kept.

    Unless `is_whole`, a stored column whose path has types, or another case, is treated as the same
    column.
    """
    before = {column.get("fieldPath"): column for column in stored.get("fields") or ()}
    paths_of_event = {column["fieldPath"] for column in addition["fields"]}
    paths = ColumnPaths()
    if not is_whole and not paths_of_event <= before.keys():
        paths = ColumnPaths.of(filter(_has_few_brackets, before))
    columns: dict[Any, Json] = {} if is_whole else dict(before)
    for added_column in addition["fields"]:
        path = added_column["fieldPath"]
        if path not in before and paths.paths and _has_few_brackets(path):
            path_in_store = paths.exact(path)
            # Do not use the stored path if another column of the event has it.
            path = path if path_in_store in paths_of_event else path_in_store
        former = columns.get(path) or before.get(path)
        fields = {key: added_column[key] for key in _SAID if key in added_column} | {
            "fieldPath": path
        }
        if former is not None and added_column["type"] == _UNTYPED:
            # The event has no known type, so the stored one is kept.
            fields.pop("type")
            if not fields["nativeDataType"]:
                fields.pop("nativeDataType")
        columns[path] = added_column if former is None else {**former, **fields}
    return {**addition, **stored, "fields": list(columns.values())}
