"""The catalog that the terminal is measured on: the sample, one wide table, and many to visit."""

from collections.abc import Iterator
from pathlib import Path

from explorer.client import Catalog
from explorer.metadata import Proposal, Urn

COLUMNS = 2_000
VISITS = 400
WIDE = "wide_table"
_VISITED_COLUMNS = 25
_STAMP = {"time": 1_700_000_000_000, "actor": "urn:li:corpuser:jdoe"}


def visit(number: int) -> str:
    """The name of one of the tables to visit."""
    return f"visit{number:03}"


def fill(directory: Path) -> None:
    """Write what the sample has not got; the service of the directory is started for it."""
    with Catalog(data_dir=directory) as catalog:
        report = catalog.ingest_batch(_proposals())
    if report.refused:
        raise SystemExit(f"the catalog was not filled: {report.refused[0]}")


def _proposals() -> Iterator[Proposal]:
    yield from _table(WIDE, COLUMNS)
    for number in range(VISITS):
        yield from _table(visit(number), _VISITED_COLUMNS)


def _table(name: str, columns: int) -> Iterator[Proposal]:
    urn = Urn.dataset("hive", f"measured.{name}")
    fields = [
        {
            "fieldPath": f"{name}_column_{at:04}",
            "nativeDataType": "varchar(200)",
            "type": {"type": {"com.linkedin.schema.StringType": {}}},
            "description": f"What is measured at place {at} of the table, as it came in."
            * (at % 3),
        }
        for at in range(columns)
    ]
    yield Proposal(
        urn,
        "datasetProperties",
        {"name": name, "description": f"Table **{name}**, to be looked at.\n\n- one\n- two"},
    )
    yield Proposal(
        urn,
        "schemaMetadata",
        {
            "schemaName": name,
            "platform": "urn:li:dataPlatform:hive",
            "version": 0,
            "hash": "",
            "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
            "created": _STAMP,
            "lastModified": _STAMP,
            "fields": fields,
        },
    )
    yield Proposal(urn, "browsePaths", {"paths": ["/prod/measured/tables"]})
