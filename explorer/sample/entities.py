"""The entities of the sample with their aspects: people, groups, platforms, tags, domains and the
glossary; datasets with their schemas, containers, lineage, assertions and incidents; charts,
dashboards, and the pipelines that load their data."""

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from random import Random
from typing import Any

from explorer.metadata import Urn
from explorer.sample.warehouse import (
    AspectEdit,
    Changes,
    Days,
    SampleColumn,
    SampleTable,
    Warehouse,
    audit_stamp,
    data_type,
    read_data,
    rows,
    user,
)

_RELATED = {"~": "relatedTerms", ">": "hasRelatedTerms", "<": "isRelatedTerms"}


def vocabulary(days: Days) -> Changes:
    """Return the tags, the domains, then the glossary: its nodes before its terms."""
    section = ""
    value: dict[str, Any]
    for cells in rows(read_data("vocabulary")):
        match section, cells:
            case _, [head] if head.startswith("["):
                section = head
            case "[tags]", [name, colour, description]:
                value = {"name": name, "description": description, "colorHex": colour}
                yield AspectEdit(Urn.of("tag", name), "tagProperties", value)
            case "[domains]", [name, title, description]:
                created = audit_stamp(days.millis(700), user("akowalski"))
                value = {"name": title, "description": description, "created": created}
                yield AspectEdit(Urn.of("domain", name), "domainProperties", value)
            case "[nodes]", [name, title, definition]:
                value = {"name": title, "definition": definition}
                yield AspectEdit(Urn.of("glossaryNode", name), "glossaryNodeInfo", value)
            case _, [name, title, definition, *more]:
                yield from _term(name, title, definition, more[0] if more else "")


def _term(name: str, title: str, definition: str, more: str) -> Changes:
    urn = Urn.of("glossaryTerm", name)
    value: dict[str, Any] = {
        "name": title,
        "definition": definition,
        "parentNode": str(Urn.of("glossaryNode", name.partition(".")[0])),
        "termSource": "INTERNAL",
    }
    sign, _, rest = more.partition(" ")
    if sign == "external":
        reference, _, url = rest.rpartition(" ")
        value |= {"termSource": "EXTERNAL", "sourceRef": reference, "sourceUrl": url}
    yield AspectEdit(urn, "glossaryTermInfo", value)
    if sign in _RELATED:
        terms = [str(Urn.of("glossaryTerm", term)) for term in rest.split()]
        yield AspectEdit(urn, "glossaryRelatedTerms", {_RELATED[sign]: terms})


_MAIL = "tarnwood.example"


def platforms() -> Changes:
    """Return the platforms, each with its names, its kind and the delimiter in its datasets'
    names."""
    for name, display_name, kind, delimiter in rows(read_data("platforms")):
        value = {
            "name": name,
            "displayName": display_name,
            "type": kind,
            "datasetNameDelimiter": delimiter,
        }
        yield AspectEdit(Urn.of("dataPlatform", name), "dataPlatformInfo", value)


def owner_urn(name: str) -> str:
    """Return the URN of an owner by name: names that begin with `team-` are groups, others
    users."""
    return f"urn:li:corpGroup:{name}" if name.startswith("team-") else user(name)


def people(days: Days) -> Changes:
    """Return the users, then the groups, then the memberships."""
    cells = list(rows(read_data("people")))
    for username, name, title, _ in cells:
        yield AspectEdit(Urn.of("corpuser", username), "corpUserInfo", _user(username, name, title))
    members: dict[str, list[str]] = {}
    admins: dict[str, list[str]] = {}
    memberships: dict[str, list[str]] = {}
    for username, _, _, groups in cells:
        for marked in groups.split():
            group = marked.removesuffix("*")
            members.setdefault(group, []).append(user(username))
            memberships.setdefault(username, []).append(owner_urn(group))
            if marked != group:
                admins.setdefault(group, []).append(user(username))
    for name, display_name, description in rows(read_data("groups")):
        value = {
            "displayName": display_name,
            "email": f"{name}@{_MAIL}",
            "admins": admins.get(name, []),
            "members": members.get(name, []),
            "groups": [],
            "description": description,
            "slack": f"#{name}",
            "created": audit_stamp(days.millis(900), user("lberg")),
        }
        yield AspectEdit(Urn.of("corpGroup", name), "corpGroupInfo", value)
    for username, urns in memberships.items():
        yield AspectEdit(Urn.of("corpuser", username), "groupMembership", {"groups": urns})


def _user(username: str, name: str, title: str) -> dict[str, object]:
    service = username.startswith("svc_")
    value: dict[str, object] = {
        "active": "(left)" not in title,
        "displayName": name,
        "fullName": name,
        "email": f"{username}@{_MAIL}",
        "title": title.removesuffix(" (left)"),
        "system": service,
    }
    if not service:
        value["firstName"], _, value["lastName"] = name.partition(" ")
    return value


_KINDS = {
    "postgres": ("Database", "Schema"),
    "snowflake": ("Database", "Schema"),
    "s3": ("S3 bucket", "Folder"),
}

_DESCRIPTIONS = {
    "shop": "Database of the order service: orders, carts, customers, returns.",
    "pim": "Product information: styles, variants, prices, suppliers.",
    "fulfilment": "Warehouse management: stock, parcels, purchase orders.",
    "payments": "Payment gateway. Access is logged and reviewed every quarter.",
    "crm": "Customer care and the loyalty programme.",
    "raw": "Replicas and loads, exactly as the sources have them. Not for analysis.",
    "analytics": "Everything made by dbt. Start in `marts`.",
    "analytics.staging": "One view per source table: names, types, nothing else.",
    "analytics.intermediate": "Steps shared by several marts. May change without notice.",
    "analytics.marts": "Facts, dimensions and marts: **what reports and people use**.",
    "analytics.reporting": "Views shaped for one report each.",
    "analytics.ml": "Features and scores of the models.",
    "analytics.sandbox": "Scratch space. Tables older than 90 days are dropped.",
    "tarnwood-landing": "Where files arrive: events, partners, stores.",
}


def container_of(table: SampleTable) -> Urn | None:
    """Return the container of a dataset, or `None` on platforms without containers."""
    return _urn(table.platform, table.folders) if table.platform in _KINDS else None


def containers(warehouse: Warehouse, days: Days) -> Changes:
    """Return all containers of the declared datasets, parents first."""
    urns: set[Urn] = set()
    for table in warehouse.tables:
        kinds = _KINDS.get(table.platform, ())
        for depth in range(1, min(len(table.folders), len(kinds)) + 1):
            folders = table.folders[:depth]
            urn = _urn(table.platform, folders)
            if urn not in urns:
                urns.add(urn)
                yield from _container(urn, table, folders, kinds[depth - 1], days)


def _container(
    urn: Urn, table: SampleTable, folders: tuple[str, ...], kind: str, days: Days
) -> Changes:
    full_name = table.delimiter.join(folders)
    value = {
        "name": folders[-1],
        "qualifiedName": full_name,
        "env": "PROD",
        "customProperties": {"platform": table.platform},
        "created": {"time": days.millis(1400)},
    }
    if full_name in _DESCRIPTIONS:
        value["description"] = _DESCRIPTIONS[full_name]
    yield AspectEdit(urn, "containerProperties", value)
    yield AspectEdit(urn, "subTypes", {"typeNames": [kind]})
    platform = {"platform": str(Urn.of("dataPlatform", table.platform))}
    yield AspectEdit(urn, "dataPlatformInstance", platform)
    path = "/".join(("", "prod", table.platform, *folders[:-1]))
    yield AspectEdit(urn, "browsePaths", {"paths": [path]})
    if len(folders) > 1:
        parent = str(_urn(table.platform, folders[:-1]))
        yield AspectEdit(urn, "container", {"container": parent})


def _urn(platform: str, folders: tuple[str, ...]) -> Urn:
    key = "/".join((platform, *folders))
    return Urn.of("container", sha256(key.encode()).hexdigest()[:32])


def lineage(table: SampleTable, warehouse: Warehouse, days: Days) -> Changes:
    """Return the upstream tables and columns of a table; nothing for a source."""
    upstreams = warehouse.upstreams(table)
    if not upstreams:
        return
    copied = table.name.startswith("raw.") and len(upstreams) == 1
    stamp = audit_stamp(days.millis(1), user("svc_dbt"))
    kind = "COPY" if copied else "TRANSFORMED"
    value: dict[str, Any] = {
        "upstreams": [
            {"auditStamp": stamp, "dataset": str(urn), "type": kind} for urn, _ in upstreams
        ]
    }
    fine = [
        {
            "upstreamType": "FIELD_SET",
            "upstreams": [source.field_urn(field) for source, field in sources],
            "downstreamType": "FIELD",
            "downstreams": [table.field_urn(column)],
            "confidenceScore": 1.0,
        }
        for column in table.columns
        if (sources := warehouse.sources(table, column))
    ]
    if fine:
        value["fineGrainedLineages"] = fine
    yield AspectEdit(table.urn, "upstreamLineage", value)


def view(table: SampleTable, warehouse: Warehouse) -> Changes:
    """Return the SQL of a view: as declared or, for a plain staging view, generated from its
    columns."""
    sql = table.sql
    if not sql and table.subtype == "View" and len(table.upstreams) == 1:
        sql = _staging_sql(table, warehouse)
    if sql:
        value = {"materialized": False, "viewLogic": sql, "viewLanguage": "SQL"}
        yield AspectEdit(table.urn, "viewProperties", value)


def _staging_sql(table: SampleTable, warehouse: Warehouse) -> str:
    [(_, upstream)] = warehouse.upstreams(table)
    if upstream is None:
        return ""
    selected: list[str] = []
    for column in table.columns:
        sources = warehouse.sources(table, column)
        if sources:
            source = sources[0][1].name
            selected.append(source if source == column.name else f"{source} as {column.name}")
    deleted = "\nwhere not _deleted" if "_deleted" in upstream.by_name else ""
    columns = ",\n    ".join(selected)
    return f"select\n    {columns}\nfrom {upstream.name}{deleted}"


_LOGICAL = {
    "ts": {"type": "long", "logicalType": "timestamp-millis"},
    "date": {"type": "int", "logicalType": "date"},
    "uuid": {"type": "string", "logicalType": "uuid"},
    "money": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2},
    "list": {"type": "array", "items": "string"},
    "map": {"type": "map", "values": "string"},
    # Enum symbols belong to no column, so an enum is written as the type used in messages.
    "enum": "string",
}


def value_document(table: SampleTable) -> str:
    """Return the schema of a topic's messages, as JSON."""
    return _document(table.record, [c for c in table.columns if not c.in_key])


def key_document(table: SampleTable) -> str:
    """Return the schema of a topic's keys, as JSON."""
    return _document(f"{table.record}Key", [c for c in table.columns if c.in_key])


def _document(record: str, columns: Sequence[SampleColumn]) -> str:
    return json.dumps(_record(record, "", columns))


def _record(name: str, parent: str, columns: Sequence[SampleColumn]) -> dict[str, Any]:
    fields = [
        _avro_field(column, columns)
        for column in columns
        if column.name.rpartition(".")[0] == parent and "#" not in column.name[len(parent) :]
    ]
    return {"type": "record", "name": name, "fields": fields}


def _avro_field(column: SampleColumn, columns: Sequence[SampleColumn]) -> dict[str, Any]:
    field: dict[str, Any] = {"name": column.name.rpartition(".")[2]}
    kind = _type(column, columns)
    if column.required:
        field["type"] = kind
    else:
        field |= {"type": ["null", kind], "default": None}
    if column.doc:
        field["doc"] = column.doc
    return field


def _type(column: SampleColumn, columns: Sequence[SampleColumn]) -> Any:
    match column.kind:
        case "record":
            return _record(column.record, column.name, columns)
        case "records":
            return {"type": "array", "items": _record(column.record, column.name, columns)}
        case "union":
            return [
                _record(member.name.rpartition("#")[2], member.name, columns)
                for member in columns
                if member.name.startswith(f"{column.name}#") and member.kind == "record"
            ]
        case kind:
            return _LOGICAL.get(kind, data_type(kind).avro)


# On other platforms the values of an enum are stored as strings.
_WITH_ENUMS = frozenset({"postgres", "kafka"})


def schema(table: SampleTable, warehouse: Warehouse, days: Days, age: int) -> Changes:
    """Return the table's schema before its newest columns were added, if there are any, then its
    present schema.

    `age` is the number of days since the table was created.
    """
    stamps = {
        "created": audit_stamp(days.millis(age), user("svc_dbt")),
        "lastModified": audit_stamp(days.millis(age // 4), user("svc_dbt")),
    }
    older = [column for column in table.columns if not column.added]
    if len(older) < len(table.columns):
        yield AspectEdit(
            table.urn, "schemaMetadata", _value(table, older, warehouse, days) | stamps
        )
    value = _value(table, table.columns, warehouse, days)
    yield AspectEdit(table.urn, "schemaMetadata", value | stamps)


def edited_schema(table: SampleTable, days: Days, editor: str, ago: int) -> Changes:
    """Return the descriptions and labels that one editor wrote on the columns `ago` days ago;
    nothing if there are none."""
    fields = [
        _field_edit(column, days)
        for column in table.columns
        if column.edited or column.edited_tags or column.edited_terms
    ]
    if fields:
        stamp = audit_stamp(days.millis(ago), user(editor))
        value = {"created": stamp, "lastModified": stamp, "editableSchemaFieldInfo": fields}
        yield AspectEdit(table.urn, "editableSchemaMetadata", value, user(editor))


def tags_value(names: Iterable[str]) -> dict[str, Any]:
    """Return the value of a `globalTags` aspect."""
    return {"tags": [{"tag": f"urn:li:tag:{name}"} for name in names]}


def terms_value(names: Iterable[str], days: Days) -> dict[str, Any]:
    """Return the value of a `glossaryTerms` aspect."""
    return {
        "terms": [{"urn": f"urn:li:glossaryTerm:{name}"} for name in names],
        "auditStamp": audit_stamp(days.millis(60), user("akowalski")),
    }


def _value(
    table: SampleTable, columns: Sequence[SampleColumn], warehouse: Warehouse, days: Days
) -> dict[str, Any]:
    paths = "\n".join(column.field_path for column in columns)
    value: dict[str, Any] = {
        "schemaName": table.name,
        "platform": str(Urn.of("dataPlatform", table.platform)),
        "version": 0,
        "hash": sha256(paths.encode()).hexdigest()[:16],
        "platformSchema": _platform_schema(table),
        "fields": [_field(table, column, days) for column in columns],
    }
    keys = [column.field_path for column in columns if column.key]
    if keys and table.platform != "kafka":
        value["primaryKeys"] = keys
    foreign = [_foreign_key(table, c, warehouse) for c in columns if c.refers]
    if foreign:
        value["foreignKeys"] = foreign
    return value


def _platform_schema(table: SampleTable) -> dict[str, Any]:
    if table.platform == "kafka":
        documents = {"documentSchema": value_document(table), "keySchema": key_document(table)}
        return {"com.linkedin.schema.KafkaSchema": documents}
    return {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}}


def _field(table: SampleTable, column: SampleColumn, days: Days) -> dict[str, Any]:
    kind = data_type(column.kind)
    if column.kind == "enum" and table.platform not in _WITH_ENUMS:
        kind = data_type("text")
    field: dict[str, Any] = {
        "fieldPath": column.field_path,
        "type": {"type": {kind.record: {}}},
        "nativeDataType": kind.native[table.platform],
        "nullable": not column.required,
        "recursive": False,
        "isPartOfKey": column.key,
    }
    if column.doc:
        field["description"] = column.doc
    if column.tags:
        field["globalTags"] = tags_value(column.tags)
    if column.terms:
        field["glossaryTerms"] = terms_value(column.terms, days)
    return field


def _field_edit(column: SampleColumn, days: Days) -> dict[str, Any]:
    field: dict[str, Any] = {"fieldPath": column.field_path}
    if column.edited:
        field["description"] = column.edited
    if column.edited_tags:
        field["globalTags"] = tags_value(column.edited_tags)
    if column.edited_terms:
        field["glossaryTerms"] = terms_value(column.edited_terms, days)
    return field


def _foreign_key(table: SampleTable, column: SampleColumn, warehouse: Warehouse) -> dict[str, Any]:
    target, target_column = warehouse.column(column.refers)
    return {
        "name": f"fk_{table.label}_{column.name}",
        "foreignFields": [target.field_urn(target_column)],
        "sourceFields": [table.field_urn(column)],
        "foreignDataset": str(target.urn),
    }


# One run a day, the newest today.
_RUNS = 14
# The number of failing rows, which grows by one each day.
_UNEXPECTED = 41
_ROWS = 48_310


def health(warehouse: Warehouse, days: Days) -> Changes:
    """Return every assertion followed by its runs, oldest first; then the incidents."""
    for cells in rows(read_data("health")):
        sign, _, name = cells[0].partition(" ")
        table = warehouse[cells[1]]
        if sign == "-":
            yield from _assertion(name, table, cells[2:], days)
        else:
            yield _incident(name, table, cells[2:], days)


def _assertion(name: str, table: SampleTable, cells: list[str], days: Days) -> Changes:
    column, operator, bounds, text, failed = cells
    [field] = [sample_column for sample_column in table.columns if sample_column.name == column]
    urn = Urn.of("assertion", name)
    assertion: dict[str, Any] = {
        "dataset": str(table.urn),
        "scope": "DATASET_COLUMN",
        "fields": [table.field_urn(field)],
        "aggregation": "IDENTITY",
        "operator": operator,
    }
    if bounds:
        low, high = bounds.split()
        assertion["parameters"] = {
            "minValue": {"value": low, "type": "NUMBER"},
            "maxValue": {"value": high, "type": "NUMBER"},
        }
    value = {"type": "DATASET", "datasetAssertion": assertion, "description": text}
    yield AspectEdit(urn, "assertionInfo", value)
    for ago in range(_RUNS - 1, -1, -1):
        is_failed = ago < int(failed)
        result: dict[str, Any] = {
            "type": "FAILURE" if is_failed else "SUCCESS",
            "rowCount": _ROWS - ago,
            "unexpectedCount": _UNEXPECTED - ago if is_failed else 0,
        }
        run = {
            "timestampMillis": days.millis(ago),
            "runId": f"checks-{days.on(ago).isoformat()}",
            "asserteeUrn": str(table.urn),
            "assertionUrn": str(urn),
            "status": "COMPLETE",
            "result": result,
        }
        yield AspectEdit(urn, "assertionRunEvent", run)


def _incident(name: str, table: SampleTable, cells: list[str], days: Days) -> AspectEdit:
    kind, state, stage, priority, ago, reporter, title, text = cells
    stamp = audit_stamp(days.millis(int(ago)), user(reporter))
    value: dict[str, Any] = {
        "type": kind,
        "title": title,
        "description": text,
        "entities": [str(table.urn)],
        "priority": int(priority),
        "status": {"state": state, "stage": stage, "lastUpdated": stamp},
        "source": {"type": "MANUAL"},
        "created": stamp,
    }
    return AspectEdit(Urn.of("incident", name), "incidentInfo", value, user(reporter))


_SUBTYPES = {"postgres": "Table", "kafka": "Topic", "s3": "Files"}

# Warehouse tables are rebuilt every night; sources change together with their service.
_NIGHTLY = frozenset({"snowflake", "s3", "kafka"})


def datasets(warehouse: Warehouse, days: Days) -> Changes:
    """Return every dataset, sources first; earlier versions of an aspect come before the latest."""
    for table in warehouse.tables:
        yield from _dataset(table, warehouse, days)


def removals(warehouse: Warehouse) -> Changes:
    """Return the removals of datasets that no longer exist on their platform."""
    for table in warehouse.tables:
        if table.removed:
            yield AspectEdit(table.urn, "status", {"removed": True})


def ownership_value(owners: tuple[tuple[str, str], ...], time_millis: int) -> dict[str, Any]:
    """Return the value of an `ownership` aspect, from pairs of owner name and ownership type."""
    return {
        "owners": [{"owner": owner_urn(name), "type": kind} for name, kind in owners],
        "lastModified": audit_stamp(time_millis, user("akowalski")),
    }


def _dataset(table: SampleTable, warehouse: Warehouse, days: Days) -> Changes:
    urn = table.urn
    dice = Random(f"dataset {table.name} {table.origin}")
    age = dice.randrange(120, 1600)
    changed = 1 if table.platform in _NIGHTLY else dice.randrange(2, 90)
    platform = {"platform": str(Urn.of("dataPlatform", table.platform))}
    yield AspectEdit(urn, "dataPlatformInstance", platform)
    if table.was:
        yield AspectEdit(
            urn, "datasetProperties", _properties(table, table.was, days, age, changed)
        )
    yield AspectEdit(urn, "datasetProperties", _properties(table, table.about, days, age, changed))
    subtype = table.subtype or _SUBTYPES[table.platform]
    yield AspectEdit(urn, "subTypes", {"typeNames": [subtype]})
    path = "/".join(("", table.origin.lower(), table.platform, *table.folders))
    yield AspectEdit(urn, "browsePaths", {"paths": [path]})
    container = container_of(table)
    if container:
        yield AspectEdit(urn, "container", {"container": str(container)})
    yield from schema(table, warehouse, days, age)
    yield from lineage(table, warehouse, days)
    yield from view(table, warehouse)
    yield from _classify(table, days)
    yield from _write_texts(table, warehouse, days, dice)


def _properties(
    table: SampleTable, description: str, days: Days, age: int, changed: int
) -> dict[str, Any]:
    value: dict[str, Any] = {
        "name": table.label,
        "qualifiedName": table.name,
        "customProperties": table.props,
        "created": {"time": days.millis(age)},
        "lastModified": {"time": days.millis(changed)},
    }
    if description:
        value["description"] = description
    return value


def _classify(table: SampleTable, days: Days) -> Changes:
    urn = table.urn
    if table.had:
        yield AspectEdit(urn, "ownership", ownership_value(table.had, days.millis(400)))
    if table.owners:
        yield AspectEdit(urn, "ownership", ownership_value(table.owners, days.millis(45)))
    if table.tags:
        yield AspectEdit(urn, "globalTags", tags_value(table.tags))
    if table.terms:
        yield AspectEdit(urn, "glossaryTerms", terms_value(table.terms, days))
    if table.domain:
        yield AspectEdit(urn, "domains", {"domains": [f"urn:li:domain:{table.domain}"]})


def _write_texts(table: SampleTable, warehouse: Warehouse, days: Days, dice: Random) -> Changes:
    """Return the texts that people wrote: links, descriptions and deprecations."""
    urn = table.urn
    persons = [name for name, _ in table.owners if not name.startswith("team-")]
    editor = persons[0] if persons else dice.choice(("jdoe", "msmith", "tnguyen"))
    ago = dice.randrange(3, 60)
    stamp = audit_stamp(days.millis(ago), user(editor))
    if table.links:
        elements = [
            {"url": url, "description": text, "createStamp": stamp} for url, text in table.links
        ]
        yield AspectEdit(urn, "institutionalMemory", {"elements": elements}, user(editor))
    if table.edited:
        value: dict[str, Any] = {
            "created": stamp,
            "lastModified": stamp,
            "description": table.edited,
        }
        yield AspectEdit(urn, "editableDatasetProperties", value, user(editor))
    yield from edited_schema(table, days, editor, ago)
    if table.deprecated:
        value = {
            "deprecated": True,
            "decommissionTime": days.millis(-60),
            "note": table.deprecated,
            "actor": user(editor),
            "replacement": str(warehouse[table.replaced_by].urn),
        }
        yield AspectEdit(urn, "deprecation", value, user(editor))


_AIRFLOW = "airflow"
_CLUSTER = "prod"
_AIRFLOW_SITE = "https://airflow.tarnwood.example/dags"


def pipelines(warehouse: Warehouse, days: Days) -> Changes:
    """Return every flow followed by its jobs."""
    flow = Urn.of("dataFlow", _AIRFLOW, "none", _CLUSTER)
    owner = ""
    for cells in rows(read_data("pipelines")):
        sign, _, name = cells[0].partition(" ")
        if sign == "=":
            title, schedule, owner, description = cells[1:]
            flow = Urn.of("dataFlow", _AIRFLOW, name, _CLUSTER)
            value: dict[str, Any] = {
                "name": title,
                "description": description,
                "externalUrl": f"{_AIRFLOW_SITE}/{name}",
                "customProperties": {"schedule": schedule},
                "created": {"time": days.millis(500)},
            }
            yield AspectEdit(flow, "dataFlowInfo", value)
            yield from _pipeline_common(flow, f"/{_AIRFLOW}/{_CLUSTER}", owner, days)
        else:
            yield from _job(flow, name, cells[1], cells[2:], warehouse)
            job = Urn.of("dataJob", flow, name)
            yield from _pipeline_common(job, f"/{_AIRFLOW}/{_CLUSTER}/{flow.parts[1]}", owner, days)


def _job(flow: Urn, name: str, moved: str, more: list[str], warehouse: Warehouse) -> Changes:
    job = Urn.of("dataJob", flow, name)
    info: dict[str, Any] = {
        "name": name,
        "type": {"string": "PYTHON"},
        "flowUrn": str(flow),
        "externalUrl": f"{_AIRFLOW_SITE}/{flow.parts[1]}/grid?task_id={name}",
    }
    yield AspectEdit(job, "dataJobInfo", info)
    inputs, _, outputs = moved.partition("=>")
    value: dict[str, Any] = {
        "inputDatasets": [str(warehouse[table].urn) for table in inputs.split()],
        "outputDatasets": [str(warehouse[table].urn) for table in outputs.split()],
    }
    before = [text.removeprefix("after ") for text in more]
    if before:
        value["inputDatajobs"] = [str(Urn.of("dataJob", flow, job_name)) for job_name in before]
    yield AspectEdit(job, "dataJobInputOutput", value)


def _pipeline_common(urn: Urn, path: str, owner: str, days: Days) -> Changes:
    platform = {"platform": str(Urn.of("dataPlatform", _AIRFLOW))}
    yield AspectEdit(urn, "dataPlatformInstance", platform)
    yield AspectEdit(urn, "browsePaths", {"paths": [path]})
    owners = ((owner, "TECHNICAL_OWNER"),)
    yield AspectEdit(urn, "ownership", ownership_value(owners, days.millis(45)))


_TOOL = "looker"
_SITE = "https://looker.tarnwood.example"


def reports(warehouse: Warehouse, days: Days) -> Changes:
    """Return the charts and dashboards; each dashboard follows the charts that it is the first to
    show."""
    dashboards: list[tuple[list[str], list[str]]] = []
    for cells in rows(read_data("reports")):
        sign, _, number = cells[0].partition(" ")
        if sign == "=":
            dashboards.append(([number, *cells[1:]], []))
            continue
        head, charts = dashboards[-1]
        charts.append(str(_chart_urn(number)))
        if len(cells) > 1:
            yield from _chart(number, cells[1:], head, warehouse, days)
    for head, charts in dashboards:
        yield from _dashboard(head, charts, days)


def chart_inputs() -> frozenset[str]:
    """Return the names of the datasets that charts use."""
    charts = [cells for cells in rows(read_data("reports")) if cells[0].startswith("- ")]
    return frozenset(name for cells in charts if len(cells) > 1 for name in cells[3].split())


def _chart_urn(number: str) -> Urn:
    return Urn.of("chart", _TOOL, f"dashboard_elements.{number}")


def _chart(
    number: str, cells: list[str], head: list[str], warehouse: Warehouse, days: Days
) -> Changes:
    title, kind, inputs, description = cells
    _, _, folder, domain, owners, *_ = head
    value: dict[str, Any] = {
        "title": title,
        "description": description,
        "lastModified": _report_stamps(int(number), days),
        "chartUrl": f"{_SITE}/looks/{number}",
        "inputs": [{"string": str(warehouse[name].urn)} for name in inputs.split()],
        "type": kind,
        "access": "PUBLIC",
    }
    urn = _chart_urn(number)
    yield AspectEdit(urn, "chartInfo", value)
    yield from _report_common(urn, folder, domain)
    first, *_ = owners.split()
    yield from _own_reports(urn, first, days)


def _dashboard(head: list[str], charts: list[str], days: Days) -> Changes:
    number, title, folder, domain, owners, tags, description = head
    value: dict[str, Any] = {
        "title": title,
        "description": description.replace("\\n", "\n"),
        "charts": charts,
        "lastModified": _report_stamps(int(number), days),
        "dashboardUrl": f"{_SITE}/dashboards/{number}",
        "access": "PUBLIC",
    }
    urn = Urn.of("dashboard", _TOOL, f"dashboards.{number}")
    yield AspectEdit(urn, "dashboardInfo", value)
    yield from _report_common(urn, folder, domain)
    yield from _own_reports(urn, owners, days)
    if tags:
        yield AspectEdit(urn, "globalTags", tags_value(tags.split()))


def _report_common(urn: Urn, folder: str, domain: str) -> Changes:
    platform = {"platform": str(Urn.of("dataPlatform", _TOOL))}
    yield AspectEdit(urn, "dataPlatformInstance", platform)
    yield AspectEdit(urn, "browsePaths", {"paths": [f"/{_TOOL}/{folder}"]})
    yield AspectEdit(urn, "domains", {"domains": [f"urn:li:domain:{domain}"]})


def _own_reports(urn: Urn, owners: str, days: Days) -> Changes:
    pairs = tuple((name, kind) for name, _, kind in (o.partition("/") for o in owners.split()))
    yield AspectEdit(urn, "ownership", ownership_value(pairs, days.millis(45)))


def _report_stamps(number: int, days: Days) -> dict[str, Any]:
    ago = 4 + number % 37
    return {
        "created": audit_stamp(days.millis(300 + number % 211), user("jlarsen")),
        "lastModified": audit_stamp(days.millis(ago), user("jlarsen")),
    }
