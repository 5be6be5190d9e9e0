"""A run leaves alone what people did, and what its source could not show this time."""

import errno
import gzip
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.errors import InvalidInput, StorageFault
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.sources.configured import read_runs, require_source
from explorer.sources.file_folder import FileFolder
from explorer.sources.profile import Profiler
from explorer.sources.run import RunPlan, plan_removal, plan_run, remove_source, run_source
from explorer.sources.source import (
    ColumnDefinition,
    DatasetWriter,
    Inventory,
    Progress,
    Source,
    SourceOptions,
    TableDefinition,
)
from explorer.sources.storage import LocalFiles, StoredFile
from tests.conftest import serving_catalog
from tests.sources.conftest import quiet

OPTIONS = SourceOptions()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a catalog that all tests here share; each has a source of its own."""
    with serving_catalog(tmp_path_factory.mktemp("catalog")) as address:
        yield address


@dataclass
class Listed(Source):
    """A source that has these tables, with these tags."""

    name: str
    tables: list[TableDefinition] = field(default_factory=list)
    tags: tuple[str, ...] = ()
    kind: str = "postgres"
    failure: Exception | None = None
    labels: dict[str, Any] = field(default_factory=dict)
    patched_tags: tuple[str, ...] = ()
    added_as: str = ""
    of_term: dict[str, Any] = field(default_factory=dict)

    @property
    def location(self) -> str:
        return f"postgresql://db/{self.name}"

    @property
    def default_name(self) -> str:
        return self.name

    def read(self, progress: Progress) -> Inventory:
        del progress
        if self.failure:
            raise self.failure
        writer = DatasetWriter("postgres", OPTIONS)
        for table in self.tables:
            view = table.subtype == "View" and table.definition
            writer.add(table, upstreams=[self.urn("orders")] if view else ())
            urn = writer.dataset(table.path)
            if self.tags:
                value = {"tags": [{"tag": f"urn:li:tag:{one}"} for one in self.tags]}
                writer.inventory.proposals.append(Proposal(urn, "globalTags", value))
            for aspect, labels in self.labels.items():
                writer.inventory.proposals.append(Proposal(urn, aspect, labels))
            for tag in self.patched_tags:
                added = {"op": "add", "path": f"/tags/{tag}", "value": {"tag": tag}}
                writer.inventory.proposals.append(Proposal(urn, "globalTags", [added], "PATCH"))
        return writer.inventory

    def urn(self, table: str) -> Urn:
        """Return the URN of one of its tables."""
        return Urn.dataset("postgres", f"{self.name}.public.{table}")

    def table(self, name: str, **more: Any) -> TableDefinition:
        """Return a table of it with one column."""
        return TableDefinition((self.name, "public", name), columns=[_ID], **more)

    def plan(self, cat: Catalog) -> RunPlan:
        """Return what a run of it would change."""
        return plan_run(cat, self.added_as or self.name, self, OPTIONS, quiet)

    def run(self, cat: Catalog) -> RunPlan:
        """Run it."""
        plan = self.plan(cat)
        assert run_source(cat, plan, quiet, accept_removals=True).refused == ()
        return plan


_ID = ColumnDefinition("id", "int", "Number")


def write(cat: Catalog, urn: Urn, aspect: str, value: Any) -> None:
    """Write what a person does."""
    cat.ingest(Proposal(urn, aspect, value))


def tags(cat: Catalog, urn: Urn) -> Sequence[str]:
    """Return the tags of a dataset."""
    listed = (cat.entity(urn).raw("globalTags") or {}).get("tags", ())
    return [one["tag"].removeprefix("urn:li:tag:") for one in listed]


def test_what_could_not_be_read_this_time_stays_and_goes_when_it_is_gone(cat: Catalog) -> None:
    source = Listed("half")
    view = source.table("big", subtype="View", definition="select id from orders")
    source.tables = [source.table("orders"), view]
    source.run(cat)
    orders, big = source.urn("orders"), source.urn("big")
    view.columns, view.definition = None, None
    source.tables[0].columns = None
    for _ in range(2):
        source.run(cat)
        assert cat.entity(orders).raw("schemaMetadata") is not None
        kept = cat.entity(big)
        for name in ("schemaMetadata", "viewProperties", "upstreamLineage"):
            assert kept.raw(name) is not None, name
    source.tables[1] = source.table("big")
    source.run(cat)
    now = cat.entity(big)
    assert now.raw("viewProperties") is now.raw("upstreamLineage") is None


class Guarded(LocalFiles):
    """The local files, without the right to list folders of the name `closed`."""

    def list(self, folder: str) -> list[StoredFile]:
        if Path(folder).name == "closed":
            raise PermissionError(errno.EACCES, "Permission denied", folder)
        return super().list(folder)


def test_tables_in_a_folder_that_cannot_be_read_stay_and_go_when_they_are_gone(
    cat: Catalog, tmp_path: Path
) -> None:
    lake = tmp_path / "guarded"
    files = ("kept.csv", "gone.csv", "closed/a.csv", "closed/deep/b.csv")
    parts = ("parts/closed/0.csv", "parts/closed/1.csv")
    for name in (*files, *parts):
        (lake / name).parent.mkdir(parents=True, exist_ok=True)
        (lake / name).write_text("id\n1\n")

    def run(storage: LocalFiles) -> Inventory:
        plan = plan_run(cat, lake.name, FileFolder(storage, str(lake), OPTIONS), OPTIONS, quiet)
        assert run_source(cat, plan, quiet, accept_removals=True).refused == ()
        return plan.inventory

    def removed() -> set[str]:
        urns = {
            name: Urn.dataset("file", f"{lake.name}/{name}") for name in (*files, "parts/closed")
        }
        return {name for name, urn in urns.items() if cat.entity(urn).removed}

    run(LocalFiles())
    (lake / "gone.csv").unlink()
    for _ in range(2):
        skipped = [(part.subject, part.reason) for part in run(Guarded()).skipped]
        reason = "cannot be read: Permission denied"
        assert skipped == [("guarded/closed", reason), ("guarded/parts/closed", reason)]
        assert removed() == {"gone.csv"}
    shutil.rmtree(lake / "closed")
    run(LocalFiles())
    assert removed() == {"gone.csv", "closed/a.csv", "closed/deep/b.csv"}


def test_a_source_of_another_kind_does_not_take_the_place_of_one(cat: Catalog) -> None:
    source = Listed("kinds")
    source.tables = [source.table("orders")]
    source.run(cat)
    source.kind = "sql-queries"
    with pytest.raises(InvalidInput, match="as postgres and not as sql-queries"):
        source.plan(cat)


def test_a_dataset_that_a_person_hid_stays_hidden_and_one_that_was_gone_comes_back(
    cat: Catalog,
) -> None:
    source = Listed("hidden")
    source.tables = [source.table("orders"), source.table("kept")]
    source.run(cat)
    urn = source.urn("orders")
    write(cat, urn, "status", {"removed": True})
    assert source.run(cat).effects[urn] == "unchanged"
    assert cat.entity(urn).removed
    write(cat, urn, "status", {"removed": False})
    table = source.tables.pop(0)
    source.run(cat)
    assert cat.entity(urn).removed
    source.tables.append(table)
    assert source.run(cat).effects[urn] == "back"
    assert not cat.entity(urn).removed


def test_what_a_removal_hid_before_it_was_broken_off_is_shown_by_the_next_run(
    cat: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Listed("broken-off")
    source.tables = [source.table("orders")]
    source.run(cat)
    removal = plan_removal(cat, require_source(cat, source.name), is_hard=False)

    def away(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        remove_source(cat, removal, away, is_hard=False)
    assert cat.entity(source.urn("orders")).removed
    source.run(cat)
    assert not cat.entity(source.urn("orders")).removed


def test_a_tag_that_a_person_took_off_is_not_put_on_again(cat: Catalog) -> None:
    source = Listed("tagged", tags=("nightly", "core"))
    source.tables = [source.table("orders")]
    source.run(cat)
    urn = source.urn("orders")
    write(cat, urn, "globalTags", {"tags": [{"tag": "urn:li:tag:core"}]})
    source.run(cat)
    assert tags(cat, urn) == ["core"]
    source.tags = ("nightly", "core", "new")
    source.run(cat)
    assert tags(cat, urn) == ["core", "new"]


def test_a_tag_that_the_source_no_longer_has_goes_and_those_of_people_stay(cat: Catalog) -> None:
    source = Listed("untagged", tags=("nightly", "core", "old"))
    source.tables = [source.table("orders")]
    urn = source.urn("orders")
    # A person gave one of them before, takes one off and gives it again later, and adds another.
    write(cat, urn, "globalTags", {"tags": [{"tag": "urn:li:tag:core"}]})
    source.run(cat)
    kept = [{"tag": f"urn:li:tag:{one}"} for one in ("core", "nightly", "mine")]
    write(cat, urn, "globalTags", {"tags": kept})
    source.run(cat)
    write(cat, urn, "globalTags", {"tags": [*kept, {"tag": "urn:li:tag:old"}]})
    source.run(cat)
    assert tags(cat, urn) == ["core", "nightly", "mine", "old"]
    source.tags = ()
    assert source.run(cat).effects[urn] == "changed"
    assert tags(cat, urn) == ["core", "mine", "old"]
    assert source.run(cat).effects[urn] == "unchanged"


_SIDE = {"time": 0, "actor": "urn:li:corpuser:ann"}
_ANNA = {"owner": "urn:li:corpuser:anna", "type": "DATAOWNER"}
_LINK = {"url": "https://example.org/a", "description": "A", "createStamp": _SIDE}


@pytest.mark.parametrize(
    ("aspect", "name", "given", "by_people"),
    [
        (
            "glossaryTerms",
            "terms",
            [{"urn": "urn:li:glossaryTerm:a"}],
            [{"urn": "urn:li:glossaryTerm:b"}],
        ),
        ("ownership", "owners", [_ANNA], [{**_ANNA, "owner": "urn:li:corpuser:ben"}]),
        (
            "institutionalMemory",
            "elements",
            [_LINK],
            [{**_LINK, "url": "https://example.org/b"}],
        ),
    ],
)
def test_labels_of_every_kind_go_with_the_source_that_gave_them(
    cat: Catalog, aspect: str, name: str, given: list[Any], by_people: list[Any]
) -> None:
    more = {"auditStamp": _SIDE} if aspect == "glossaryTerms" else {}
    source = Listed(f"labels-{name}", labels={aspect: {name: given, **more}})
    source.tables = [source.table("orders")]
    urn = source.urn("orders")
    source.run(cat)
    stored = cat.entity(urn).raw(aspect)
    assert stored is not None
    assert len(stored[name]) == 1
    write(cat, urn, aspect, {**stored, name: [*stored[name], *by_people]})
    source.labels = {}
    source.run(cat)
    (left,) = (cat.entity(urn).raw(aspect) or {})[name]
    assert left.items() >= by_people[0].items()


def test_the_domain_that_a_person_gave_stays_and_that_of_the_source_follows_it(
    cat: Catalog,
) -> None:
    source = Listed("domains", labels={"domains": {"domains": ["urn:li:domain:sales"]}})
    source.tables = [source.table("orders"), source.table("moved")]
    source.run(cat)
    write(cat, source.urn("moved"), "domains", {"domains": ["urn:li:domain:ours"]})
    source.labels = {"domains": {"domains": ["urn:li:domain:finance"]}}
    source.run(cat)
    domains = {
        one: (cat.entity(source.urn(one)).raw("domains") or {})["domains"]
        for one in ("orders", "moved")
    }
    assert domains == {"orders": ["urn:li:domain:finance"], "moved": ["urn:li:domain:ours"]}


def test_tags_that_a_source_adds_with_patches_go_too(cat: Catalog) -> None:
    source = Listed("patched", patched_tags=("urn:li:tag:a", "urn:li:tag:b"))
    source.tables = [source.table("orders")]
    urn = source.urn("orders")
    write(cat, urn, "globalTags", {"tags": [{"tag": "urn:li:tag:mine"}]})
    source.run(cat)
    assert tags(cat, urn) == ["mine", "a", "b"]
    source.patched_tags = ("urn:li:tag:b",)
    source.run(cat)
    assert tags(cat, urn) == ["mine", "b"]


def test_a_table_that_comes_back_without_its_tag_does_not_have_it(cat: Catalog) -> None:
    source = Listed("back", tags=("nightly",))
    source.tables = [source.table("orders"), source.table("kept")]
    source.run(cat)
    table = source.tables.pop(0)
    source.run(cat)
    source.tables.append(table)
    source.tags = ()
    source.run(cat)
    assert tags(cat, source.urn("orders")) == []


def test_a_tag_that_another_source_gives_too_stays_until_neither_does(
    cat: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Listed, "shares_datasets", True)
    sources = [Listed("shared", tags=("nightly", f"of-{one}"), added_as=one) for one in "ab"]
    for source in sources:
        source.tables = [source.table("orders")]
        source.run(cat)
    first, second = sources
    urn = first.urn("orders")
    first.tags = ()
    first.run(cat)
    assert tags(cat, urn) == ["nightly", "of-b"]
    second.run(cat)
    remove_source(
        cat,
        plan_removal(cat, require_source(cat, "b"), is_hard=False),
        lambda *_: None,
        is_hard=False,
    )
    assert (tags(cat, urn), cat.entity(urn).removed) == ([], False)


def test_what_an_interrupted_run_gave_is_taken_off_by_a_later_one(cat: Catalog) -> None:
    source = Listed("interrupted", tags=("nightly",))
    source.tables = [source.table("orders")]

    def stop(what: str, _done: int, _total: int | None) -> None:
        if what == "written":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_source(cat, source.plan(cat), stop)
    assert tags(cat, source.urn("orders")) == ["nightly"]
    source.tags = ()
    source.run(cat)
    assert tags(cat, source.urn("orders")) == []


def test_owners_of_what_sources_share_go_with_the_source_that_gave_them(cat: Catalog) -> None:
    term = Urn.of("glossaryTerm", "shared-term")

    class Glossary(Listed):
        def read(self, progress: Progress) -> Inventory:
            inventory = super().read(progress)
            inventory.proposals += [
                Proposal(term, aspect, value) for aspect, value in self.of_term.items()
            ]
            return inventory

    info = {"glossaryTermInfo": {"definition": "d", "termSource": "INTERNAL"}}
    source = Glossary("glossary")
    source.tables = [source.table("orders")]
    source.of_term = {**info, "ownership": {"owners": [_ANNA]}}
    source.run(cat)
    assert (cat.entity(term).raw("ownership") or {})["owners"] != []
    source.of_term = info
    source.run(cat)
    assert (cat.entity(term).raw("ownership") or {})["owners"] == []
    source.of_term = {}
    source.run(cat)
    assert not cat.entity(term).removed


def test_what_was_written_after_the_plan_was_made_is_not_overwritten(cat: Catalog) -> None:
    source = Listed("waited", tags=("nightly",))
    source.tables = [source.table("orders")]
    urn = source.urn("orders")
    write(cat, urn, "globalTags", {"tags": [{"tag": "urn:li:tag:first"}]})
    plan = source.plan(cat)
    write(cat, urn, "globalTags", {"tags": [{"tag": "urn:li:tag:second"}]})
    run_source(cat, plan, quiet)
    assert tags(cat, urn) == ["second", "nightly"]


def test_a_file_that_is_cut_off_fails_as_a_source_does(cat: Catalog) -> None:
    source = Listed("cut")
    source.tables = [source.table("orders")]
    source.run(cat)
    with pytest.raises(EOFError) as raised:
        gzip.decompress(gzip.compress(b"select 1;" * 1_000)[:-9])
    source.failure = raised.value
    with pytest.raises(StorageFault, match="could not be read completely"):
        source.plan(cat)
    assert read_runs(cat, require_source(cat, source.name))[0].status == "FAILURE"


def test_an_odd_value_loses_no_other_table() -> None:
    inventory = Inventory()
    profiler = Profiler(SourceOptions(profile=True, values=True), inventory)
    table = TableDefinition(("t",), columns=[ColumnDefinition("total", "numeric", "Number")])
    rows: list[Any] = [Decimal(1), Decimal("NaN"), Decimal(3)]
    profiler.profile(table, lambda _: iter([(one,) for one in rows]))
    assert inventory.skipped == []
    assert (table.field_profiles[0]["min"], table.field_profiles[0]["max"]) == ("1", "3")
    rows += [([],), "x"]
    other = TableDefinition(("u",), columns=[ColumnDefinition("total", "numeric", "Number")])
    profiler.profile(other, lambda _: iter([(one,) for one in rows]))
    assert [one.subject for one in inventory.skipped] == ["u"]
    assert other.field_profiles == ()
