"""Every declared dataset: those of the text files, and the replicas of the source tables."""

from collections.abc import Iterator
from importlib import resources

import msgspec

from explorer.errors import InvalidInput
from explorer.metadata import Urn
from explorer.sample.notation import read_tables
from explorer.sample.phrases import Phrases
from explorer.sample.tables import Column, Table

__all__ = ["Warehouse", "load_warehouse", "read_data"]

_FILES = (
    "shop",
    "pim",
    "fulfilment",
    "payments",
    "crm",
    "events",
    "landing",
    "staging",
    "facts",
    "dimensions",
    "marts",
    "serving",
)

_SYSTEMS = {
    "shop": "order service",
    "pim": "product information system",
    "fulfilment": "warehouse management",
    "payments": "payment gateway",
    "crm": "customer care",
}


class Warehouse:
    """The declared tables, and who stands upstream of whom."""

    def __init__(self, tables: list[Table]) -> None:
        self.tables = tables
        self._by_name: dict[str, Table] = {}
        for table in tables:
            if table.origin == "PROD":
                self._by_name[table.name] = table
                if table.name.startswith(("analytics.", "tarnwood.")):
                    self._by_name.setdefault(table.label, table)

    def __getitem__(self, name: str) -> Table:
        """The table of a full name; those of the warehouse go by their last name as well."""
        table = self._by_name.get(name)
        if table is None:
            raise InvalidInput(f"no table named {name!r} is declared")
        return table

    def upstreams(self, table: Table) -> list[tuple[Urn, Table | None]]:
        """What a table is made from, in the order declared. No table stands beside a URN that is
        only named, written `platform:name`."""
        found: list[tuple[Urn, Table | None]] = []
        for name in table.upstreams:
            platform, colon, rest = name.partition(":")
            upstream = None if colon else self[name]
            found.append((upstream.urn if upstream else Urn.dataset(platform, rest), upstream))
        return found

    def sources(self, table: Table, column: Column) -> list[tuple[Table, Column]]:
        """The columns a column is made from; without a declared source, the one of its name in
        the first upstream that has one."""
        tables = [upstream for _, upstream in self.upstreams(table) if upstream]
        if column.sources:
            return [self._source(table, tables, source) for source in column.sources]
        for upstream in tables:
            if column.name in upstream.by_name:
                return [(upstream, upstream.by_name[column.name])]
        return []

    def column(self, name: str) -> tuple[Table, Column]:
        """The column named `<table>.<column>`, both in full; raises `InvalidInput`."""
        cut = name.rfind(".")
        while cut > 0:
            table = self._by_name.get(name[:cut])
            if table is not None and name[cut + 1 :] in table.by_name:
                return table, table.by_name[name[cut + 1 :]]
            cut = name.rfind(".", 0, cut)
        raise InvalidInput(f"no column named {name!r} is declared")

    def _source(self, table: Table, tables: list[Table], name: str) -> tuple[Table, Column]:
        for upstream in tables:
            if name in upstream.by_name:
                return upstream, upstream.by_name[name]
        found, column = self.column(name)
        if found not in tables:
            raise InvalidInput(f"{table.name} takes {name!r}, but not from one of its upstreams")
        return found, column


def load_warehouse() -> Warehouse:
    """Read the declared tables; those of one layer stand together, sources first."""
    phrases = Phrases(read_data("phrases"))
    declared = {name: [phrases.fill(t) for t in read_tables(read_data(name))] for name in _FILES}
    tables = [table for name in _FILES[:7] for table in declared[name]]
    replicas = [_replica(table) for table in tables if table.replicated]
    rest = (table for name in _FILES[7:] for table in declared[name])
    return Warehouse([*tables, *replicas, *rest])


def read_data(name: str) -> str:
    """The text of one of the package's data files."""
    return resources.files("explorer.sample").joinpath("data", f"{name}.txt").read_text("utf-8")


def _replica(table: Table) -> Table:
    """The copy of a source table in the warehouse. Replication carries names and types over, but
    no documentation and no tags."""
    schema = table.folders[0] if table.platform == "postgres" else table.folders[-1]
    streamed = table.platform == "postgres"
    loader = {"loader": "change data capture" if streamed else "copy into", "schedule": "daily"}
    return Table(
        platform="snowflake",
        name=f"raw.{schema}.{table.label}",
        columns=tuple(_replicated(table, streamed)),
        subtype="Table",
        about=_about(table, schema) if table.about else "",
        owners=(("team-data-platform", "TECHNICAL_OWNER"),),
        domain=table.domain,
        tags=("CDC",) if streamed else (),
        props=loader | ({"schedule": "continuous"} if streamed else {}),
        upstreams=(table.name,),
    )


def _about(table: Table, schema: str) -> str:
    system = _SYSTEMS.get(schema)
    if system is None:
        return f"Files of `{table.name}`, loaded once a day. Nothing is changed on the way."
    return (
        f"Replica of `{table.name}` from the {system}, about a minute behind. Deleted rows stay "
        f"with `_deleted = true`.\n\nFor analysis use `stg_{table.label}`."
    )


def _replicated(table: Table, streamed: bool) -> Iterator[Column]:
    for column in table.columns:
        kind = "text" if column.kind == "enum" else column.kind
        yield Column(column.name, kind, field_path=column.name, key=column.key, required=column.key)
    loaded = Column("_loaded_at", "ts", field_path="_loaded_at", required=True)
    yield msgspec.structs.replace(loaded, doc="When the row arrived in the warehouse, UTC.")
    if streamed:
        yield Column("_deleted", "bool", field_path="_deleted", required=True)
