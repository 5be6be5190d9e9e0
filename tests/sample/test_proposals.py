"""The sample as a whole: the same every time, valid, and complete in itself."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import orjson

from explorer.metadata import Proposal, Registry, Urn
from explorer.metadata.registry import edges_of, key_value
from explorer.metadata.validation import Validator
from explorer.sample import SAMPLE_RUN_ID, sample_proposals

GHOST = "urn:li:dataset:(urn:li:dataPlatform:postgres,legacy_erp.public.supplier_terms,PROD)"


def _bytes(today: date) -> bytes:
    return b"\n".join(orjson.dumps([p.to_wire(), p.actor]) for p in sample_proposals(today))


def _millis(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)


def test_the_same_day_gives_the_same_bytes_in_another_process_too(today: date) -> None:
    code = (
        "import hashlib, orjson, datetime; from explorer.sample import sample_proposals;"
        f"day = datetime.date({today.year}, {today.month}, {today.day});"
        "data = b'\\n'.join(orjson.dumps([p.to_wire(), p.actor]) for p in sample_proposals(day));"
        "import sys; sys.stdout.buffer.write(data)"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert other == _bytes(today)


def test_another_day_moves_the_sample_along(today: date) -> None:
    later = {
        p.value["timestampMillis"]
        for p in sample_proposals(today + timedelta(days=9))
        if p.aspect == "datasetProfile"
    }
    assert max(later) == _millis(today + timedelta(days=9))


def test_every_value_fits_its_aspect_and_every_aspect_its_entity(
    proposals: list[Proposal], registry: Registry
) -> None:
    validator = Validator(registry)
    for proposal in proposals:
        registry.aspect_of(proposal.urn.entity_type, proposal.aspect)
        validator.check(proposal.aspect, proposal.value)
        key_value(proposal.urn, registry.key_fields(proposal.urn.entity_type))
        assert Urn.parse(str(proposal.urn)) == proposal.urn


def test_every_change_says_which_run_brought_it_and_when(
    proposals: list[Proposal], today: date
) -> None:
    expected = {"runId": SAMPLE_RUN_ID, "lastObserved": _millis(today)}
    assert all(p.system == expected and p.change == "UPSERT" for p in proposals)


def test_it_has_about_three_hundred_entities_of_fifteen_types(
    latest: dict[str, dict[str, Any]],
) -> None:
    counts = Counter(Urn.parse(urn).entity_type for urn in latest)
    assert 280 <= counts.total() <= 340
    assert 160 <= counts["dataset"] <= 190
    assert 20 <= counts["corpuser"] <= 30
    assert counts["domain"] == 5
    assert counts["corpGroup"] == 6
    assert {
        "chart",
        "dashboard",
        "container",
        "dataFlow",
        "dataJob",
        "tag",
        "glossaryTerm",
        "glossaryNode",
        "dataPlatform",
        "assertion",
        "incident",
    } <= set(counts)


def test_a_table_has_an_assertion_that_fails_one_that_passes_and_an_active_incident(
    latest: dict[str, dict[str, Any]], series: Any, today: date
) -> None:
    runs = series("assertionRunEvent")
    newest = {urn: values[-1]["result"]["type"] for urn, values in runs.items()}
    assert sorted(newest.values()) == ["FAILURE", "SUCCESS"]
    assert {values[-1]["timestampMillis"] for values in runs.values()} == {_millis(today)}
    about = {
        aspects["assertionInfo"]["datasetAssertion"]["dataset"]
        for aspects in latest.values()
        if "assertionInfo" in aspects
    }
    (incident,) = [a["incidentInfo"] for a in latest.values() if "incidentInfo" in a]
    assert incident["status"]["state"] == "ACTIVE"
    assert (
        about
        == set(incident["entities"])
        == {
            "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.mart_inventory_health,PROD)"
        }
    )


def test_it_stays_below_six_megabytes(proposals: list[Proposal]) -> None:
    assert sum(len(orjson.dumps(p.value)) for p in proposals) < 6_000_000


def test_everything_referred_to_is_there_but_the_one_ghost(
    latest: dict[str, dict[str, Any]], proposals: list[Proposal], registry: Registry
) -> None:
    columns = {
        urn: {field["fieldPath"] for field in aspects["schemaMetadata"]["fields"]}
        for urn, aspects in latest.items()
        if "schemaMetadata" in aspects
    }
    missing = set()
    for proposal in proposals:
        aspect = registry.aspect(proposal.aspect)
        for _, target in edges_of(aspect, aspect.read_targets(proposal.value)):
            if target.startswith("urn:li:schemaField:"):
                parent, path = Urn.parse(target).parts
                if path not in columns.get(parent, ()):
                    missing.add(target)
            elif target not in latest:
                missing.add(target)
    assert missing == {GHOST}


def test_the_users_in_usage_and_the_platforms_in_urns_are_there(
    latest: dict[str, dict[str, Any]], series: Any
) -> None:
    for days in series("datasetUsageStatistics").values():
        assert {entry["user"] for day in days for entry in day["userCounts"]} <= set(latest)
    for urn in map(Urn.parse, latest):
        if urn.platform:
            assert f"urn:li:dataPlatform:{urn.platform}" in latest


def test_groups_and_their_members_agree(latest: dict[str, dict[str, Any]]) -> None:
    said_by_groups = {
        (member, urn)
        for urn, aspects in latest.items()
        for member in aspects.get("corpGroupInfo", {}).get("members", ())
    }
    said_by_users = {
        (urn, group)
        for urn, aspects in latest.items()
        for group in aspects.get("groupMembership", {}).get("groups", ())
    }
    assert said_by_groups == said_by_users
    assert said_by_groups


def test_two_datasets_are_removed_after_everything_else_was_written_of_them(
    proposals: list[Proposal],
) -> None:
    removed = [p.urn for p in proposals if p.aspect == "status" and p.value["removed"]]
    assert len(removed) == 2
    for urn in removed:
        written = [p.aspect for p in proposals if p.urn == urn]
        assert len(written) > 1
        assert written[-1] == "status"


def test_three_datasets_are_deprecated_for_one_that_exists(
    latest: dict[str, dict[str, Any]],
) -> None:
    notes = [aspects["deprecation"] for aspects in latest.values() if "deprecation" in aspects]
    assert len(notes) == 3
    assert all(
        note["deprecated"] and note["note"] and note["replacement"] in latest for note in notes
    )


def test_browse_paths_hold_folders_only(latest: dict[str, dict[str, Any]]) -> None:
    tables = [Urn.parse(urn) for urn in latest if urn.startswith("urn:li:dataset:")]
    for urn in tables:
        (path,) = latest[str(urn)]["browsePaths"]["paths"]
        assert urn.origin is not None
        assert path.startswith(f"/{urn.origin.lower()}/{urn.platform}/")
        folders = path.split("/")[3:]
        if urn.platform == "kafka":
            assert folders == [urn.name.partition(".")[0]]
        else:
            assert folders == re.split(r"[./]", urn.name)[:-1]
    reports = [a["browsePaths"]["paths"] for a in latest.values() if "dashboardInfo" in a]
    assert ["/looker/Sales"] in reports


def test_an_aspect_with_a_history_ends_with_its_latest_value(
    proposals: list[Proposal], latest: dict[str, dict[str, Any]]
) -> None:
    urn = Urn.dataset("snowflake", "analytics.marts.fct_orders")
    schemas = [p.value for p in proposals if p.urn == urn and p.aspect == "schemaMetadata"]
    assert [len(schema["fields"]) for schema in schemas] == [28, 29]
    texts = [
        p.value["description"]
        for p in proposals
        if p.urn == urn and p.aspect == "datasetProperties"
    ]
    assert len(texts) == 2
    assert texts[0] != texts[1]
    assert latest[str(urn)]["datasetProperties"]["description"] == texts[1]


def test_nothing_that_has_happened_lies_after_the_first_moment_of_the_day(
    proposals: list[Proposal], today: date
) -> None:
    limit = _millis(today)

    def times(value: Any) -> Iterator[Any]:
        match value:
            case dict():
                for key, part in value.items():
                    if key in ("time", "timestampMillis"):
                        yield part
                    else:
                        yield from times(part)
            case list():
                for part in value:
                    yield from times(part)

    assert max(time for p in proposals for time in times(p.value)) == limit


def test_making_it_loads_nothing_heavy() -> None:
    code = (
        "import sys, datetime; from explorer.sample import sample_proposals;"
        "list(sample_proposals(datetime.date(2026, 3, 18)));"
        "print(' '.join(sorted(m.partition('.')[0] for m in sys.modules)))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    ).stdout.split()
    heavy = {
        "pandas",
        "numpy",
        "networkx",
        "httpx",
        "textual",
        "rich",
        "plotly",
        "ipywidgets",
        "starlette",
        "tantivy",
        "graphql",
        "anyio",
        "asyncio",
    }
    assert heavy.isdisjoint(loaded)
