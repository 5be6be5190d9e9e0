"""What people do with the command `datahub`, done to a catalog served by us."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from explorer.metadata import load_registry
from explorer.metadata.files import Refused, read_file
from tests.conftest import nightly
from tests.datahub.conftest import DataHub, Served

# The first test may install DataHub's tools.
DATA = Path(__file__).parents[3] / "shared/data/datahub"
FILES = (
    "bootstrap_mce.as_mcps.json",
    "looker.json",
    *nightly(
        "bootstrap_mce.json",
        "data_platforms.json",
        "dbt_with_schemas.json",
        "demo-profiles.json",
        "mongodb.json",
        "s3_local_folder_partition.json",
    ),
)
SHOP = Path(__file__).with_name("shop.json")
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
DAILY = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.daily,PROD)"
REPORT = "urn:li:dashboard:(looker,shop.report)"
# A key that the tool's own model does not know, and drops from what it sends.
DROPPED = "fieldDiscriminator"


def recipe(datahub: Any, file: Any, run: Any) -> Any:
    written = datahub.home / f"{run}.yml"
    source = {"type": "file", "config": {"path": str(file)}}
    sink = {"type": "datahub-rest", "config": {"server": datahub.address}}
    written.write_text(json.dumps({"run_id": run, "source": source, "sink": sink}))
    return str(written)


def differences(given: Any, stored: Any) -> Any:
    """Where a stored value lacks something given; the tool may add what defaults to nothing."""
    if isinstance(given, dict) and isinstance(stored, dict):
        return [
            f".{key}{where}"
            for key, value in given.items()
            if value is not None and key != DROPPED
            for where in (differences(value, stored[key]) if key in stored else [" is missing"])
        ]
    if isinstance(given, list) and isinstance(stored, list) and len(given) == len(stored):
        return [
            f"[{at}]{where}"
            for at, (one, other) in enumerate(zip(given, stored, strict=True))
            for where in differences(one, other)
        ]
    return [] if given == stored else [f" is {stored!r:.80}, not {given!r:.80}"]


def lacking(served: Any, file: Any) -> Any:
    """What a file says and the catalog does not hold."""
    registry = load_registry()
    latest: dict[str, dict[str, Any]] = {}
    points: defaultdict[tuple[str, str], dict[int, Any]] = defaultdict(dict)
    for proposal in read_file(file.read_bytes(), registry):
        assert not isinstance(proposal, Refused)
        if registry.aspect(proposal.aspect).timeseries:
            moment = proposal.value["timestampMillis"]
            points[str(proposal.urn), proposal.aspect][moment] = proposal.value
        else:
            latest.setdefault(str(proposal.urn), {})[proposal.aspect] = proposal.value
    found = []
    for urn, aspects in latest.items():
        stored = served.aspects(urn)
        for name, value in aspects.items():
            found += [f"{urn} {name}{where}" for where in differences(value, stored[name])]
    for (table, aspect), values in points.items():
        entity = table.split(":")[2]
        answer = served.action(
            "/aspects?action=getTimeseriesAspectValues", urn=table, entity=entity, aspect=aspect
        )
        documents = [json.loads(point["aspect"]["value"]) for point in answer["values"]]
        stored = {document["timestampMillis"]: document for document in documents}
        for moment, value in values.items():
            found += [f"{table} {aspect}{where}" for where in differences(value, stored[moment])]
    return found


@pytest.fixture(scope="module")
def shop(datahub: DataHub) -> Any:
    """A small catalog of a shop, brought by a run of ingestion."""
    datahub("ingest", "-c", recipe(datahub, SHOP, "shop-run"))
    return datahub


@pytest.mark.skipif(not DATA.exists(), reason="the real catalog files are not beside this checkout")
@pytest.mark.parametrize("name", FILES)
def test_a_file_is_ingested_and_every_aspect_reads_back(
    datahub: DataHub, served: Served, name: Any
) -> None:
    file = DATA / name
    assert "Pipeline finished successfully" in datahub("ingest", "-c", recipe(datahub, file, name))
    assert lacking(served, file) == []


def test_the_server_is_taken_for_one_that_the_tool_knows(datahub: DataHub) -> None:
    assert "'noCode': 'true'" in datahub("check", "server-config")


@pytest.mark.nightly
def test_ingesting_the_same_again_makes_no_versions(shop: Any, served: Served) -> None:
    shop("ingest", "-c", recipe(shop, SHOP, "shop-again"))
    aspects = served.aspects(ORDERS)
    assert {"datasetProperties", "schemaMetadata", "ownership", "datasetKey"} <= set(aspects)
    assert [name for name in aspects if served.has_version(ORDERS, name, 1)] == []


def test_entities_are_read_and_asked_for(shop: Any) -> None:
    found = shop.json("get", "--urn", ORDERS)
    assert found["datasetProperties"]["description"] == "One row an order"
    detailed = shop.json("get", "--urn", ORDERS, "--aspect", "ownership", "--details")
    assert list(detailed) == ["ownership"]
    assert shop("exists", "--urn", ORDERS).strip() == "true"
    assert shop("exists", "--urn", ORDERS.replace("orders", "never")).strip() == "false"
    dataset = shop.json("dataset", "get", "--urn", ORDERS)
    assert [field["id"] for field in dataset["schema_metadata"]["fields"]] == ["id", "placed_at"]


def test_an_aspect_is_put(shop: Any, served: Served) -> None:
    file = shop.home / "tags.json"
    file.write_text(json.dumps({"tags": [{"tag": "urn:li:tag:PII"}]}))
    given = ("--urn", DAILY, "--aspect", "globalTags", "-d", str(file), "--run-id", "put-run")
    shop("put", "aspect", *given)
    assert served.aspects(DAILY)["globalTags"]["tags"] == [{"tag": "urn:li:tag:PII"}]


@pytest.mark.nightly
def test_users_and_groups_are_upserted(shop: Any, served: Served) -> None:
    user = shop.home / "user.yml"
    user.write_text("id: grace\ndisplay_name: Grace\nemail: grace@shop.example\ngroups: [data]\n")
    shop("user", "upsert", "-f", str(user))
    assert served.aspects("urn:li:corpuser:grace")["corpUserInfo"]["displayName"] == "Grace"
    group = shop.home / "group.yml"
    group.write_text("id: data\ndisplay_name: Data people\nowners: [grace]\nmembers: [grace]\n")
    shop("group", "upsert", "-f", str(group))
    assert served.aspects("urn:li:corpGroup:data")["corpGroupInfo"]["displayName"] == "Data people"


@pytest.mark.nightly
def test_search_answers_as_table_json_and_urns(shop: Any) -> None:
    assert "Orders a day" in shop("search", "daily", "--format", "table")
    found = shop.json("search", "daily", "--format", "json")
    assert DAILY in json.dumps(found)
    assert shop("search", "daily", "--urns-only").split() == [DAILY]
    where = "platform = hive AND entity_type = dataset"
    assert set(shop("search", "*", "--where", where, "--urns-only").split()) >= {ORDERS, DAILY}
    narrowed = shop("search", "*", "--filter", "platform=looker", "--urns-only").split()
    assert narrowed
    assert not any("hive" in urn for urn in narrowed)
    facets = shop.json("search", "shop", "--facets-only", "--format", "json")
    assert "platform" in json.dumps(facets)


@pytest.mark.nightly
def test_lineage_is_walked_in_both_directions_and_by_column(shop: Any) -> None:
    down = shop.json("lineage", "--urn", ORDERS, "--direction", "downstream", "--format", "json")
    assert {DAILY, REPORT} <= set(_urns(down))
    near = ("--direction", "downstream", "--hops", "1", "--format", "json")
    assert set(_urns(shop.json("lineage", "--urn", ORDERS, *near))) & {DAILY, REPORT} == {DAILY}
    up = shop.json("lineage", "--urn", DAILY, "--direction", "upstream", "--format", "json")
    assert ORDERS in _urns(up)
    assert DAILY in shop("lineage", "--urn", ORDERS, "--direction", "downstream")
    column = ("--column", "id", "--direction", "downstream", "--format", "json")
    assert any("shop.daily" in urn for urn in _urns(shop.json("lineage", "--urn", ORDERS, *column)))
    path = shop.json("lineage", "path", "--from", ORDERS, "--to", REPORT, "--format", "json")
    assert [found["urn"] for found in path["results"]] == [REPORT]


@pytest.mark.nightly
def test_any_graphql_is_sent(shop: Any) -> None:
    query = "query d($urn: String!) { dataset(urn: $urn) { properties { description } } }"
    found = shop.json("graphql", "--query", query, "--variables", json.dumps({"urn": ORDERS}))
    assert found["dataset"]["properties"]["description"] == "One row an order"
    assert "updateDescription" in shop("graphql", "--list-mutations")
    assert "searchAcrossEntities" in shop("graphql", "--describe", "searchAcrossEntities")


@pytest.mark.nightly
def test_an_entity_is_deleted_softly_and_brought_back(shop: Any, served: Served) -> None:
    shop("delete", "by-filter", "--urn", DAILY, "--soft", "--force")
    assert served.aspects(DAILY)["status"] == {"removed": True}
    assert shop("search", "daily", "--urns-only").split() == []
    shop("delete", "undo-by-filter", "--urn", DAILY, "--force")
    assert served.aspects(DAILY)["status"] == {"removed": False}
    shop("delete", "by-filter", "--platform", "hive", "--query", "daily", "--soft", "--force")
    assert served.aspects(DAILY)["status"] == {"removed": True}
    shop("delete", "undo-by-filter", "--platform", "hive", "--force")
    assert shop("search", "daily", "--urns-only").split() == [DAILY]


@pytest.mark.nightly
def test_an_entity_is_deleted_for_good_with_the_references_to_it(shop: Any, served: Served) -> None:
    tag = "urn:li:tag:leftover"
    shop_tags = shop.home / "leftover.json"
    shop_tags.write_text(json.dumps({"tags": [{"tag": tag}, {"tag": "urn:li:tag:PII"}]}))
    shop("put", "aspect", "--urn", ORDERS, "--aspect", "globalTags", "-d", str(shop_tags))
    named = shop.home / "tag.json"
    named.write_text(json.dumps({"name": "leftover"}))
    shop("put", "aspect", "--urn", tag, "--aspect", "tagProperties", "-d", str(named))
    shop("delete", "references", "--urn", tag, "--force", answer="y\n")
    assert served.aspects(ORDERS)["globalTags"]["tags"] == [{"tag": "urn:li:tag:PII"}]
    said = shop("delete", "by-filter", "--urn", tag, "--hard", "--force")
    assert "1 entities" in said
    assert shop("exists", "--urn", tag).strip() == "false"


@pytest.mark.nightly
def test_a_run_is_listed_shown_and_rolled_back(shop: Any, served: Served) -> None:
    thrown = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.thrown_away,PROD)"
    file = shop.home / "thrown.json"
    file.write_text(
        json.dumps(
            [
                {
                    "entityType": "dataset",
                    "entityUrn": urn,
                    "changeType": "UPSERT",
                    "aspectName": "datasetProperties",
                    "aspect": {"json": {"description": "A mistake"}},
                }
                for urn in (thrown, ORDERS)
            ]
        )
    )
    shop("ingest", "-c", recipe(shop, file, "mistaken-run"))
    assert served.aspects(ORDERS)["datasetProperties"]["description"] == "A mistake"
    assert "mistaken-run" in shop("ingest", "list-runs")
    assert thrown in shop("ingest", "show", "--run-id", "mistaken-run")
    shop("ingest", "rollback", "--run-id", "mistaken-run", "--dry-run")
    assert served.aspects(ORDERS)["datasetProperties"]["description"] == "A mistake"
    shop("ingest", "rollback", "--run-id", "mistaken-run", "--force")
    assert served.aspects(ORDERS)["datasetProperties"]["description"] == "One row an order"
    # What the run made is only hidden.
    assert served.aspects(thrown)["status"] == {"removed": True}
    assert "datasetProperties" not in served.aspects(thrown)


def _urns(found: Any) -> Any:
    """Every URN of an entity in an answer of whatever shape."""
    if isinstance(found, dict):
        return [urn for value in found.values() for urn in _urns(value)]
    if isinstance(found, list):
        return [urn for value in found for urn in _urns(value)]
    return [found] if isinstance(found, str) and found.startswith("urn:li:") else []


@pytest.mark.nightly
def test_a_run_with_profiles_and_usage_is_shown_and_rolled_back(shop: Any, served: Served) -> None:
    made = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.measured,PROD)"
    run, day = "measuring-run", 1_700_000_000_000

    def proposal(urn: Any, aspect: Any, value: Any) -> Any:
        return {
            "entityType": "dataset",
            "entityUrn": urn,
            "changeType": "UPSERT",
            "aspectName": aspect,
            "aspect": {"json": value},
        }

    def documents(urn: Any, aspect: Any) -> Any:
        asked = {"urn": urn, "entity": "dataset", "aspect": aspect}
        return served.action("/aspects?action=getTimeseriesAspectValues", **asked)["values"]

    window = {"timestampMillis": day, "eventGranularity": {"unit": "DAY", "multiple": 1}}
    measures = {
        "datasetProfile": {"timestampMillis": day, "rowCount": 7, "columnCount": 2},
        "datasetUsageStatistics": {**window, "totalSqlQueries": 5, "uniqueUserCount": 1},
        "operation": {
            "timestampMillis": day,
            "operationType": "INSERT",
            "lastUpdatedTimestamp": day,
        },
    }
    file = shop.home / "measured.json"
    written = [proposal(made, "datasetProperties", {"name": "measured"})]
    written += [proposal(urn, *one) for urn in (made, ORDERS) for one in measures.items()]
    file.write_text(json.dumps(written))
    before = {aspect: documents(ORDERS, aspect) for aspect in measures}
    assert "Pipeline finished successfully" in shop("ingest", "-c", recipe(shop, file, run))
    assert all(len(documents(ORDERS, one)) == len(before[one]) + 1 for one in measures)

    shown = shop("ingest", "show", "--run-id", run)
    for aspect in ("datasetKey", "datasetProperties", *measures):
        assert aspect in shown
    assert '"rowCount":7' in shop("ingest", "show", "--run-id", run, "-a").replace("\\", "")
    told = shop("ingest", "rollback", "--run-id", run, "--dry-run")
    # It calls affected entities deleted; what others wrote is not touched.
    assert "will delete 2 entities" in told
    assert "WARNING" not in told
    for aspect in measures:
        assert aspect in told
    assert len(documents(made, "datasetProfile")) == 1
    assert "deleted 2 entities" in shop("ingest", "rollback", "--run-id", run, "--force")
    assert served.aspects(made)["status"] == {"removed": True}
    for aspect in measures:
        assert documents(made, aspect) == []
        assert documents(ORDERS, aspect) == before[aspect]
    assert "datasetProperties" in served.aspects(ORDERS)
    assert run not in shop("ingest", "list-runs")


@pytest.mark.nightly
def test_the_timeline_tells_what_changed(shop: Any, served: Served) -> None:
    table = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.timeline,PROD)"
    for tags in (["Legacy"], ["Legacy", "PII"], ["PII"]):
        (shop.home / "tags.json").write_text(
            json.dumps({"tags": [{"tag": f"urn:li:tag:{tag}"} for tag in tags]})
        )
        put = ("put", "--urn", table, "--aspect", "globalTags", "-d", str(shop.home / "tags.json"))
        assert "status 200" in shop(*put)
    told = shop("timeline", "--urn", table, "--category", "TAG", "--category", "owner")
    assert [line.split(" - ")[1] for line in told.splitlines() if " - " in line] == [
        "0.0.0-computed",
        "0.1.0-computed",
        "0.2.0-computed",
    ]
    assert "ADD TAG dataset:hive:shop.timeline (urn:li:tag:PII)" in told
    assert "REMOVE TAG dataset:hive:shop.timeline (urn:li:tag:Legacy)" in told
