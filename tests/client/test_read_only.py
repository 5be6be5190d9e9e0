"""A catalog that is only read: nothing that would write leaves, and everything else works."""

import inspect
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from explorer import config
from explorer.client import AsyncCatalog, Catalog, Edit, JournalEntry, JournalSave
from explorer.errors import ReadOnly
from explorer.metadata import Proposal, Urn
from explorer.metadata.aspects import Status
from tests.client.conftest import Site
from tests.conftest import schema_of

TABLE = Urn.dataset("hive", "readonly.orders")
TAG = "urn:li:tag:readonly"
SCHEMA = schema_of(
    [
        {
            "fieldPath": "id",
            "nativeDataType": "int",
            "type": {"type": {"com.linkedin.schema.NumberType": {}}},
        }
    ]
)
AT = datetime(2026, 1, 1, tzinfo=UTC)
WRITES = {
    "ingest": lambda c: c.ingest(Proposal(TABLE, "status", {"removed": True})),
    "put": lambda c: c.put(TABLE, None, Status(removed=True)),
    "patch": lambda c: c.patch(TABLE, "globalTags", [{"op": "remove", "path": "/tags/x"}]),
    "remove": lambda c: c.remove(TABLE, "status"),
    "ingest_batch": lambda c: c.ingest_batch([Proposal(TABLE, "status", {})] * 2),
    "ingest_snapshot": lambda c: c.ingest_snapshot(TABLE, {"status": {"removed": True}}),
    "soft_delete": lambda c: c.soft_delete(TABLE),
    "restore": lambda c: c.restore(TAG),
    "delete": lambda c: c.delete(TABLE, with_references=True),
    "roll_back": lambda c: c.roll_back("readonly-run"),
    "graphql": lambda c: c.graphql("mutation { removeLink }"),
    "describe": lambda c: c.describe(TABLE, "text", column="id"),
    "carry_over": lambda c: c.carry_over(TABLE),
    "add_link": lambda c: c.add_link(TABLE, "https://b", "B"),
    "remove_link": lambda c: c.remove_link(TABLE, "https://a"),
    "add_tags": lambda c: c.add_tags(TABLE, "another"),
    "remove_tags": lambda c: c.remove_tags(TABLE, TAG),
    "add_terms": lambda c: c.add_terms(TABLE, "Order"),
    "remove_terms": lambda c: c.remove_terms(TABLE, "Held"),
    "add_owners": lambda c: c.add_owners(TABLE, "another"),
    "remove_owners": lambda c: c.remove_owners(TABLE, "jdoe"),
    "set_domain": lambda c: c.set_domain(TABLE, "shop"),
    "deprecate": lambda c: c.deprecate(TABLE, "old"),
    "undeprecate": lambda c: c.undeprecate(TAG),
    "undo": lambda c: c.undo(Edit(TABLE, "tags", (), (TAG,), AT)),
    "undo_save": lambda c: c.undo_save(
        JournalSave(
            "x", (JournalEntry("x", AT, c.address, str(TABLE), "status", "hidden", "shown"),)
        )
    ),
    "create": lambda c: c.create("urn:li:tag:uncreated", "tagProperties", {"name": "x"}),
    "create_with": lambda c: c.create_with(
        "urn:li:tag:uncreated", {"tagProperties": {"name": "x"}}
    ),
    "set_text_source": lambda c: c.set_text_source(TABLE, "id", {"documentation": "x"}),
    "new": lambda c: c.new("tag", "Uncreated"),
    "rename": lambda c: c.rename("urn:li:tag:another", "Renamed"),
    "move": lambda c: c.move("urn:li:glossaryTerm:Held", "urn:li:glossaryNode:held"),
    "move_contents": lambda c: c.move_contents("urn:li:glossaryNode:filled"),
}
READS = {
    *("abilities", "info", "search", "facets", "counts", "autocomplete", "suggest", "browse"),
    *("known_as", "urn_of", "find_labels", "other_spelling"),
    *("complete_filter", "browse_paths", "entity", "legacy_entity", "exists", "entities"),
    *("summaries", "aspect", "record", "versions", "diff", "column_history", "blame", "links"),
    *("timeseries", "usage", "profiles", "measures", "health", "relationships", "lineage"),
    *("runs", "changes", "described", "described_trend", "undescribed", "me"),
}
ELSEWHERE = {"close", "journal", "keep_journal", "last_save", "last_undo", "redo"}


@pytest.fixture(scope="module", autouse=True)
def _written(site: Site) -> None:
    write_what_is_asked_about(site.address)


def write_what_is_asked_about(address: Any) -> None:
    """Write the table and the labels that the calls are about."""
    stamp = {"time": 0, "actor": "urn:li:corpuser:jdoe"}
    values = {
        "datasetProperties": {"description": "x"},
        "schemaMetadata": SCHEMA,
        "editableSchemaMetadata": {
            "editableSchemaFieldInfo": [{"fieldPath": "ID", "description": "x"}]
        },
        "globalTags": {"tags": [{"tag": TAG}]},
        "glossaryTerms": {"terms": [{"urn": "urn:li:glossaryTerm:Held"}], "auditStamp": stamp},
        "ownership": {"owners": [{"owner": "urn:li:corpuser:jdoe", "type": "NONE"}]},
        "institutionalMemory": {
            "elements": [{"url": "https://a", "description": "A", "createStamp": stamp}]
        },
    }
    proposals = [Proposal(TABLE, name, value) for name, value in values.items()]
    proposals.append(Proposal(Urn.parse(TAG), "tagProperties", {"name": "readonly"}))
    proposals.append(Proposal(Urn.parse(TAG), "status", {"removed": True}))
    deprecation = {"deprecated": True, "note": "old", "actor": "urn:li:corpuser:jdoe"}
    proposals.append(Proposal(Urn.parse(TAG), "deprecation", deprecation))
    with Catalog(address) as catalog:
        assert not catalog.ingest_batch(proposals).refused
        for urn, name in (("urn:li:tag:another", "tagProperties"), ("urn:li:domain:shop", None)):
            catalog.put(urn, name or "domainProperties", {"name": "x"})
        catalog.put("urn:li:glossaryTerm:Order", "status", {"removed": False})
        catalog.put("urn:li:glossaryTerm:Held", "status", {"removed": False})
        group = {"definition": "", "name": "Held"}
        catalog.put("urn:li:glossaryNode:held", "glossaryNodeInfo", group)
        catalog.put("urn:li:glossaryNode:filled", "glossaryNodeInfo", group)
        inside = group | {"termSource": "INTERNAL", "parentNode": "urn:li:glossaryNode:filled"}
        catalog.put("urn:li:glossaryTerm:Inside", "glossaryTermInfo", inside)
        catalog.put("urn:li:corpuser:another", "status", {"removed": False})


@pytest.mark.parametrize("write", WRITES.values(), ids=list(WRITES))
def test_no_method_writes_by_a_client_that_only_reads(site: Site, write: Any) -> None:
    with Catalog(site.address, read_only=True) as catalog:
        before = catalog.changes(limit=0).head
        with pytest.raises(ReadOnly, match="nothing was sent"):
            write(catalog)
        assert catalog.changes(limit=0).head == before


def test_every_method_is_known_to_read_or_to_write() -> None:
    methods = inspect.getmembers(AsyncCatalog, inspect.iscoroutinefunction)
    asked = {name for name, _ in methods if not name.startswith("_")}
    assert asked == WRITES.keys() | READS | ELSEWHERE


def test_what_would_happen_may_still_be_asked(site: Site) -> None:
    with Catalog(site.address, read_only=True) as catalog:
        assert not catalog.soft_delete(TABLE, dry_run=True).is_changed
        assert not catalog.delete(TABLE, dry_run=True).is_deleted
        catalog.roll_back("readonly-run", dry_run=True)
        assert catalog.search("*", count=1).hits
        assert catalog.graphql("{ me { corpUser { urn } } }")


def test_a_profile_that_is_only_read_keeps_from_writing_by_name_and_by_address(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CATALOG_CONFIG_DIR", str(tmp_path))
    profile = config.ConnectionProfile(url=site.address, read_only=True)
    config.change_profiles(lambda _: config.ConnectionProfiles(None, {"looked-at": profile}))
    named: tuple[dict[str, Any], ...] = ({"profile": "looked-at"}, {"url": site.address})
    for one in named:
        with Catalog(**one) as catalog, pytest.raises(ReadOnly):
            catalog.soft_delete(TABLE)
