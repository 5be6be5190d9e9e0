"""A proposal says truthfully whose text it is, and no text that people wrote is ever replaced."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.client import Catalog
from explorer.errors import InvalidInput, NotFound
from explorer.metadata import Proposal, Urn
from explorer.metadata.fieldpath import column_urn
from explorer.metadata.files import Refused, read_file
from explorer.stewardship import (
    KnownColumn,
    KnownTable,
    StagedEdit,
    Stewardship,
    propagation,
    propose,
)
from explorer.stewardship.propagation import is_placeholder
from tests.conftest import schema_metadata, serving_catalog

DATA = Path(__file__).parents[3] / "shared/data/datahub"
STAMP = {"time": 0, "actor": "urn:li:corpuser:jdoe"}
Put = Callable[..., None]


def urn_of(name: str) -> str:
    return str(Urn.dataset("hive", name))


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Catalog]:
    """A client of a service without anything, over a socket."""
    with serving_catalog(tmp_path) as address, Catalog(address) as client:
        yield client


@pytest.fixture
def put(empty: Catalog) -> Put:
    """Writes a table: the texts of its columns, the tables upstream, and of columns those that
    they are made from, as `table.column`."""

    def put(
        name: str,
        columns: Mapping[str, str],
        upstreams: Sequence[str] = (),
        *,
        made_from: Mapping[str, str] | None = None,
        edited: Mapping[str, str] | None = None,
        removed: bool = False,
    ) -> None:
        urn = Urn.parse(urn_of(name))
        texts = {path: text or None for path, text in columns.items()}
        written = [Proposal(urn, "schemaMetadata", schema_metadata(texts))]
        lineage = {
            "upstreams": [
                {"dataset": urn_of(one), "type": "TRANSFORMED", "auditStamp": STAMP}
                for one in upstreams
            ],
            "fineGrainedLineages": [
                fine(sources.split(), f"{name}.{path}")
                for path, sources in (made_from or {}).items()
            ],
        }
        written.append(Proposal(urn, "upstreamLineage", lineage))
        if edited:
            infos = [{"fieldPath": path, "description": text} for path, text in edited.items()]
            value = {"editableSchemaFieldInfo": infos}
            written.append(Proposal(urn, "editableSchemaMetadata", value))
        if removed:
            written.append(Proposal(urn, "status", {"removed": True}))
        report = empty.ingest_batch(written)
        assert not report.refused, report

    return put


def fine(sources: Sequence[str], target: str) -> dict[str, Any]:
    return {
        "upstreamType": "FIELD_SET",
        "upstreams": [field_urn(one) for one in sources],
        "downstreamType": "FIELD",
        "downstreams": [field_urn(target)],
    }


def field_urn(place: str) -> str:
    table, _, path = place.partition(".")
    return column_urn(urn_of(table), path)


def proposed(catalog: Catalog, *names: str, **more: Any) -> list[Any]:
    """What is proposed for some tables: each place, the text, the source, its hops and how many
    agree."""
    edits = Stewardship(catalog).propose_descriptions([urn_of(name) for name in names], **more)
    return [summary_of(edit) for edit in edits]


def summary_of(edit: StagedEdit) -> tuple[str, str, str, int, int]:
    first = edit.sources[0]
    place = f"{edit.name}.{edit.column}"
    source = f"{first.found_by} {first.table}.{first.column}"
    return place, edit.text, source, first.hops, first.agreeing


def test_a_rename_is_followed_through_undocumented_columns(empty: Catalog, put: Put) -> None:
    put("raw", {"id": "Key of the order.", "other": "Another."})
    put("stg", {"oid": ""}, ["raw"], made_from={"oid": "raw.id"})
    put("mart", {"order_id": "", "day": "Day."}, ["stg"], made_from={"order_id": "stg.oid"})
    edits = Stewardship(empty).propose_descriptions([urn_of("mart")])
    assert [summary_of(edit) for edit in edits] == [
        ("mart.order_id", "Key of the order.", "lineage raw.id", 2, 1)
    ]
    assert (edits[0].urn, edits[0].column, edits[0].before) == (urn_of("mart"), "order_id", "")
    assert edits[0].sources[0].urn == urn_of("raw")


def test_no_further_hops_are_walked_than_were_asked_for(empty: Catalog, put: Put) -> None:
    put("raw", {"id": "Key of the order."})
    put("stg", {"oid": ""}, ["raw"], made_from={"oid": "raw.id"})
    put("mart", {"order_id": ""}, ["stg"], made_from={"order_id": "stg.oid"})
    assert proposed(empty, "mart", most_hops=1) == []
    assert len(proposed(empty, "mart", most_hops=2)) == 1
    with pytest.raises(InvalidInput, match="at least 1"):
        proposed(empty, "mart", most_hops=0)


def test_a_text_that_was_written_is_never_touched(empty: Catalog, put: Put) -> None:
    put("raw", {"a": "Source.", "b": "Source.", "c": "Source.", "d": "Source.", "e": "Source."})
    same = {path: f"raw.{path}" for path in "abcde"}
    texts = {"a": "Ingested.", "b": "", "c": "tbd", "d": " ", "e": ""}
    put("mart", texts, ["raw"], made_from=same, edited={"b": "Edited.", "e": "\n"})
    edits = Stewardship(empty).propose_descriptions([urn_of("mart"), urn_of("raw")])
    assert [(edit.column, edit.before, edit.ingested) for edit in edits] == [
        ("d", "", " "),
        ("e", "\n", ""),
    ]


def test_what_people_wrote_of_a_source_goes_before_what_came_in(empty: Catalog, put: Put) -> None:
    put("raw", {"a": "Ingested."}, edited={"a": " Edited.\n"})
    put("mart", {"a": ""}, ["raw"], made_from={"a": "raw.a"})
    assert [edit[1] for edit in proposed(empty, "mart")] == ["Edited."]


def test_a_computation_takes_no_text_of_what_it_is_computed_from(empty: Catalog, put: Put) -> None:
    put("raw", {"gross": "With tax.", "tax": "The tax.", "id": "Key."})
    put("more", {"id": "Key of more.", "ref": "Reference."})
    made_from = {"net": "raw.gross raw.tax", "id": "raw.id more.id more.ref"}
    put("mart", {"net": "", "id": ""}, ["raw", "more"], made_from=made_from)
    (edit,) = Stewardship(empty).propose_descriptions([urn_of("mart")])
    assert edit.column == "id"
    assert [one.table for one in edit.sources] == ["more", "raw"]


def test_without_column_lineage_the_name_along_the_tables_is_a_guess(
    empty: Catalog, put: Put
) -> None:
    put("raw", {"City": "Where it went.", "address.zip": "Postal code."})
    put("stg", {"city": "", "zip": ""}, ["raw"])
    put("mart", {"city": "", "zip": "", "country": ""}, ["stg"])
    assert proposed(empty, "mart") == [
        ("mart.city", "Where it went.", "name raw.City", 2, 1),
        ("mart.zip", "Postal code.", "name raw.address.zip", 2, 1),
    ]


def test_a_column_in_one_record_is_not_that_in_another(empty: Catalog, put: Put) -> None:
    put("raw", {"billing.zip": "Where the bill goes."})
    put("mart", {"shipping.zip": ""}, ["raw"])
    assert proposed(empty, "mart") == []
    put("flat", {"zip": ""}, ["raw"])
    assert proposed(empty, "flat") == [
        ("flat.zip", "Where the bill goes.", "name raw.billing.zip", 1, 1)
    ]


def test_lineage_goes_before_a_nearer_guess(empty: Catalog, put: Put) -> None:
    put("far", {"x": "By lineage."})
    put("mid", {"y": ""}, ["far"], made_from={"y": "far.x"})
    put("near", {"a": "By name."})
    put("mart", {"a": ""}, ["near", "mid"], made_from={"a": "mid.y"})
    assert proposed(empty, "mart") == [("mart.a", "By lineage.", "lineage far.x", 2, 1)]


def test_a_guess_goes_on_where_a_rename_led(empty: Catalog, put: Put) -> None:
    put("raw", {"ref": "The reference."})
    put("stg", {"ref": ""}, ["raw"])
    put("mart", {"order_ref": ""}, ["stg"], made_from={"order_ref": "stg.ref"})
    assert proposed(empty, "mart") == [("mart.order_ref", "The reference.", "name raw.ref", 2, 1)]


def test_elsewhere_the_most_agreed_text_is_proposed(empty: Catalog, put: Put) -> None:
    put("one", {"sku": "Stock keeping unit."})
    put("two", {"SKU": "Stock keeping unit. "})
    put("three", {"sku": "What the scanner reads."})
    put("nested", {"line.sku": "Of a line."})
    put("mart", {"sku": "", "lonely": ""})
    edits = Stewardship(empty).propose_descriptions([urn_of("mart")])
    assert [summary_of(edit) for edit in edits] == [
        ("mart.sku", "Stock keeping unit.", "elsewhere one.sku", 0, 2)
    ]
    assert [(one.table, one.agreeing) for one in edits[0].sources] == [("one", 2), ("three", 1)]


def test_elsewhere_finds_columns_behind_types_and_in_records(empty: Catalog, put: Put) -> None:
    put("topic", {"[version=2.0].[type=struct].[type=string].sku": "The unit."})
    put("deep", {"line.item": "", "line.item.zip": "The code."})
    put("mart", {"sku": "", "line.item.zip": ""})
    assert [edit[:2] for edit in proposed(empty, "mart")] == [
        ("mart.sku", "The unit."),
        ("mart.line.item.zip", "The code."),
    ]


def test_a_rare_name_is_searched_again_where_a_frequent_one_took_the_whole_answer(
    empty: Catalog, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(propagation, "_DATASETS_A_SEARCH", 2)
    for name in "abcd":
        put(name, {"id": "Key."})
    put("z", {"rare": "Seldom seen."})
    put("mart", {"id": "", "rare": "", "nowhere": ""})
    assert [edit[:2] for edit in proposed(empty, "mart")] == [
        ("mart.id", "Key."),
        ("mart.rare", "Seldom seen."),
    ]


def test_a_server_that_does_not_search_still_has_lineage(
    empty: Catalog, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("raw", {"id": "Key.", "city": "The city."})
    put("mart", {"id": "", "city": ""}, made_from={"id": "raw.id"})
    put("side", {"city": ""})

    async def refuse(*_: Any) -> Any:
        raise NotFound("no such action")

    monkeypatch.setattr(empty.core, "counts", refuse)
    assert proposed(empty, "mart", "side") == [
        ("mart.id", "Key.", "lineage raw.id", 1, 1),
        ("mart.city", "The city.", "name raw.city", 1, 1),
        ("side.city", "The city.", "elsewhere raw.city", 0, 1),
    ]


def test_the_same_text_of_several_columns_counts_once(empty: Catalog, put: Put) -> None:
    for name, text in (("a", "The key."), ("b", "Key."), ("c", "Key.")):
        put(name, {"id": text})
    put("mart", {"id": ""}, made_from={"id": "a.id b.id c.id"})
    (edit,) = Stewardship(empty).propose_descriptions([urn_of("mart")])
    assert [(one.table, one.hops, one.agreeing) for one in edit.sources] == [
        ("b", 1, 2),
        ("a", 1, 1),
    ]


def test_a_cycle_ends(empty: Catalog, put: Put) -> None:
    put("a", {"x": "", "y": ""}, ["b", "a"], made_from={"x": "b.x a.x"})
    put("b", {"x": "", "y": ""}, ["a"], made_from={"x": "a.x"})
    assert proposed(empty, "a", "b", most_hops=50) == []
    put("c", {"x": "Found."})
    put("b", {"x": "", "y": ""}, ["a", "c"], made_from={"x": "a.x c.x"})
    assert proposed(empty, "a") == [("a.x", "Found.", "lineage c.x", 2, 1)]


def test_what_is_deleted_or_a_placeholder_is_no_source(empty: Catalog, put: Put) -> None:
    put("raw", {"id": "The source."})
    put("gone", {"id": "Deleted."}, ["raw"], made_from={"id": "raw.id"}, removed=True)
    put("stg", {"id": "n/a"}, ["gone"], made_from={"id": "gone.id"})
    put("mart", {"id": ""}, ["stg"], made_from={"id": "stg.id"})
    assert proposed(empty, "mart") == [("mart.id", "The source.", "lineage raw.id", 3, 1)]


@pytest.mark.parametrize(
    "text", ["", " ", "?", "...", "N/A", "tbd", "TODO:", "Customer ID", "customer_id", "CUSTOMERID"]
)
def test_a_text_without_meaning_is_a_placeholder(text: str) -> None:
    assert is_placeholder(text, "customer_id")


@pytest.mark.parametrize("text", ["Customer", "Id of the customer", "顧客", "Not tested"])
def test_a_text_with_meaning_is_none(text: str) -> None:
    assert not is_placeholder(text, "customer_id")


def test_lineage_leads_through_the_jobs_that_write_a_table(empty: Catalog, put: Put) -> None:
    put("raw", {"id": "Key of the order.", "city": "Where it went."})
    put("mart", {"order_id": "", "city": ""})
    put("late", {"city": ""})
    job = Urn.parse("urn:li:dataJob:(urn:li:dataFlow:(airflow,load,PROD),orders)")
    value = {
        "inputDatasets": [urn_of("raw")],
        "outputDatasets": [urn_of("mart")],
        "fineGrainedLineages": [fine(["raw.id"], "mart.order_id")],
    }
    later = Urn.parse("urn:li:dataJob:(urn:li:dataFlow:(airflow,load,PROD),late)")
    edges = {
        f"{side}DatasetEdges": [{"destinationUrn": urn_of(name)}]
        for side, name in (("input", "mart"), ("output", "late"))
    }
    more = {"inputDatasets": [], "outputDatasets": [], **edges}
    report = empty.ingest_batch(
        [Proposal(job, "dataJobInputOutput", value), Proposal(later, "dataJobInputOutput", more)]
    )
    assert not report.refused, report
    assert proposed(empty, "mart", "late") == [
        ("mart.order_id", "Key of the order.", "lineage raw.id", 1, 1),
        ("mart.city", "Where it went.", "name raw.city", 1, 1),
        ("late.city", "Where it went.", "name raw.city", 2, 1),
    ]


def test_a_source_that_cannot_be_understood_spoils_nothing(
    empty: Catalog, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("broken", {"id": "Key."})
    put("good", {"id": "The key."})
    put("mart", {"id": ""}, ["broken", "good"], made_from={"id": "broken.id good.id gone.id"})
    original = empty.core.entities

    async def entities(urns: Any, aspects: Any = None) -> Any:
        found = await original(urns, aspects)
        for urn, entity in found.items():
            if "broken" in str(urn):
                schema = entity.aspects["schemaMetadata"]
                bad = type(schema)(schema.name, 0, {"fields": [{"fieldPath": 7}]})
                found[urn] = replace(entity, aspects={**entity.aspects, "schemaMetadata": bad})
        return found

    monkeypatch.setattr(empty.core, "entities", entities)
    assert proposed(empty, "mart") == [("mart.id", "The key.", "lineage good.id", 1, 1)]


def test_datasets_are_chosen_as_for_everything_else(empty: Catalog, put: Put) -> None:
    put("raw", {"id": "Key."})
    put("mart", {"id": ""}, made_from={"id": "raw.id"})
    put("side", {"id": ""}, made_from={"id": "raw.id"})
    steward = Stewardship(empty)
    assert [edit.name for edit in steward.propose_descriptions()] == ["mart", "side"]
    assert [edit.name for edit in steward.propose_descriptions(filter="name:side")] == ["side"]
    assert steward.propose_descriptions([urn_of("nothing")]) == ()


def test_the_whole_sample_costs_a_handful_of_requests(
    sample: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    steward = Stewardship(sample)
    urns = steward.datasets()
    rows = {(row.urn, row.column): row for row in steward.documentation()}
    sent, seen = [], []
    ask = sample.core._connection.ask

    async def counted(request: Any, **more: Any) -> Any:
        sent.append(request)
        return await ask(request, **more)

    monkeypatch.setattr(sample.core._connection, "ask", counted)
    edits = steward.propose_descriptions(urns, progress=lambda *at: seen.append(at))
    assert len(sent) <= 10
    assert seen[-1][0] == seen[-1][1] >= len(urns)
    sources = Counter(edit.sources[0].found_by for edit in edits)
    assert sources["lineage"] > 500
    assert sources["elsewhere"] > 200
    assert sources["name"] > 0
    for edit in edits:
        row = rows[edit.urn, edit.column or ""]
        assert row.ingested + row.edited == ""
        for one in edit.sources:
            if (one.urn, one.column) in rows:
                source = rows[one.urn, one.column]
                assert source.edited or source.ingested
        first = rows[edit.sources[0].urn, edit.sources[0].column]
        assert edit.text == (first.edited.strip() or first.ingested.strip())


@pytest.mark.skipif(not DATA.exists(), reason="the real catalog files are not beside this checkout")
def test_real_catalog_files_give_proposals_for_undocumented_columns_alone(empty: Catalog) -> None:
    for name in ("bootstrap_mce.json", "dbt_with_schemas.json", "mongodb.json"):
        read = read_file((DATA / name).read_bytes(), empty.registry)
        empty.ingest_batch(one for one in read if not isinstance(one, Refused))
    steward = Stewardship(empty)
    open_columns = {
        (row.urn, row.column)
        for row in steward.documentation()
        if row.column and not (row.ingested.strip() or row.edited.strip())
    }
    edits = steward.propose_descriptions()
    assert edits
    assert {(edit.urn, edit.column) for edit in edits} <= open_columns


# Against every walk there is, one by one.

NAMES = ("a", "B", "b", "r.a", "s.a", "c")
TABLES = ("t0", "t1", "t2", "t3", "t4")
TEXTS = ("", "", "", "One.", "Two.", "n/a", "a")
_PLACES = st.tuples(st.sampled_from(TABLES), st.sampled_from(NAMES))


@st.composite
def known_tables(draw: st.DrawFn) -> dict[str, KnownTable]:
    found = {}
    for name in draw(st.lists(st.sampled_from(TABLES), unique=True, min_size=2)):
        paths = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=4))
        columns = tuple(
            KnownColumn(path, draw(st.sampled_from(TEXTS)), draw(st.sampled_from(TEXTS)))
            for path in paths
        )
        made_from = draw(
            st.dictionaries(
                st.sampled_from(paths), st.lists(_PLACES, max_size=3).map(tuple), max_size=3
            )
            if paths
            else st.just({})
        )
        upstreams = tuple(draw(st.lists(st.sampled_from(TABLES), unique=True, max_size=3)))
        removed = draw(st.integers(0, 5)) == 0
        found[name] = KnownTable(name, name.upper(), columns, upstreams, made_from, removed)
    return found


def last(path: str) -> str:
    return path.rpartition(".")[2].casefold()


class BruteForce:
    """The same proposals out of every walk without repetition, each looked at by itself."""

    def __init__(self, tables: Mapping[str, KnownTable], hops: int) -> None:
        self.tables, self.hops = tables, hops

    def text(self, urn: str, path: str) -> str:
        table = self.tables[urn]
        for column in table.columns:
            if column.path == path and not table.removed:
                text = column.edited.strip() or column.ingested.strip()
                return "" if text in ("n/a", path, last(path)) or text == "" else text
        return ""

    def paths(self, urn: str) -> list[str]:
        return [column.path for column in self.tables[urn].columns]

    def as_listed(self, urn: str, path: str) -> str:
        """The path as the schema has it, in whatever case it is named."""
        if urn not in self.tables or path in self.paths(urn):
            return path
        alike = [one for one in self.paths(urn) if one.casefold() == path.casefold()]
        return alike[0] if len(alike) == 1 else path

    def certain(self, urn: str, path: str) -> set[tuple[str, str]]:
        stated = self.tables[urn].made_from.get(path, ())
        sources = {(above, self.as_listed(above, one)) for above, one in stated} - {(urn, path)}
        same = {one for one in sources if last(one[1]) == last(path)}
        if same:
            return same
        return sources if len({last(one[1]) for one in sources}) == 1 else set()

    def guesses(self, urn: str, path: str) -> set[tuple[str, str]]:
        found = set()
        for above in self.tables[urn].upstreams:
            if above not in self.tables:
                continue
            paths = self.paths(above)
            whole = [one for one in paths if one.casefold() == path.casefold()]
            ends = [one for one in paths if last(one) == last(path)]
            flat = len(ends) == 1 and ("." not in path or "." not in ends[0])
            chosen = [path] if not paths else whole or (ends if flat else [])
            found |= {(above, one) for one in chosen}
        return found

    def walks(
        self, walk: tuple[tuple[str, str], ...], *, guessing: bool
    ) -> Iterator[tuple[tuple[str, str], int]]:
        """Every documented column at the end of a walk, with how long that is."""
        steps = self.certain(*walk[-1])
        if guessing:
            steps |= self.guesses(*walk[-1])
        for urn, path in steps:
            if urn not in self.tables or (urn, path) in walk:
                continue
            if self.text(urn, path):
                yield (urn, path), len(walk)
            elif len(walk) < self.hops:
                yield from self.walks((*walk, (urn, path)), guessing=guessing)

    def expected(self, urn: str, path: str) -> list[Any]:
        """The sources, best first, as (source, table, path, hops, agreeing, text)."""
        for source in ("lineage", "name"):
            nearest: dict[tuple[str, str], int] = {}
            for end, length in self.walks(((urn, path),), guessing=source == "name"):
                nearest[end] = min(length, nearest.get(end, length))
            if nearest:
                return self.ordered(source, path, nearest)
        everywhere = {
            (other, one): 0
            for other in self.tables
            for one in self.paths(other)
            if one.casefold() == path.casefold() and self.text(other, one)
        }
        return self.ordered("elsewhere", path, everywhere)

    def ordered(self, source: str, path: str, ends: Mapping[tuple[str, str], int]) -> list[Any]:
        agreeing = Counter(self.text(*end) for end in ends)
        each: dict[str, Any] = {}
        ranked = sorted((hops, last(end[1]) != last(path), end) for end, hops in ends.items())
        for hops, renamed, end in ranked:
            text = self.text(*end)
            order = (hops, renamed, -agreeing[text], end)
            if source == "elsewhere":
                order = (0, False, -agreeing[text], end)
            each.setdefault(text, (order, (source, *end, hops, agreeing[text], text)))
        return [shown for _, shown in sorted(each.values())][:5]


@pytest.mark.nightly
@settings(max_examples=120, deadline=None)
@given(known_tables(), st.integers(1, 5))
def test_proposals_are_those_of_every_walk_there_is(
    tables: dict[str, KnownTable], hops: int
) -> None:
    brute = BruteForce(tables, hops)
    expected = []
    for urn, table in tables.items():
        for column in table.columns:
            if not (column.ingested.strip() or column.edited.strip()):
                sources = brute.expected(urn, column.path)
                if sources:
                    expected.append((urn, column.path, sources))
    edits = propose(tables, tables, most_hops=hops)
    found = []
    for edit in edits:
        texts = [brute.text(one.urn, one.column) for one in edit.sources]
        assert edit.text == texts[0]
        shown = [
            (one.found_by, one.urn, one.column, one.hops, one.agreeing, text)
            for one, text in zip(edit.sources, texts, strict=True)
        ]
        found.append((edit.urn, edit.column, shown))
    assert found == expected
