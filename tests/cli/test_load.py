"""Loading: every form goes in, what is refused is told, and nothing else is lost."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.cli.conftest import Run

REAL = Path(__file__).parents[3] / "shared/data/datahub"
REAL_FILES = (
    "bootstrap_mce.json",
    "bootstrap_mce.as_mcps.json",
    "data_platforms.json",
    "dbt_with_schemas.json",
    "demo-profiles.json",
    "looker.json",
    "mongodb.json",
    "s3_local_folder_partition.json",
)
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
CUSTOMERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.customers,PROD)"


@pytest.mark.parametrize(
    ("name", "aspects", "entities"),
    [
        ("snapshots.json", 6, 2),
        ("changes.json", 3, 2),
        ("changes_as_json.json", 2, 1),
        ("usage.json", 2, 1),
        ("lines.jsonl", 2, 1),
    ],
)
def test_every_form_of_file_goes_in_and_is_counted(
    catalog: Run, data: Path, name: str, aspects: int, entities: int
) -> None:
    ran = catalog("load", str(data / name))
    assert ran.code == 0, ran
    noun = "entity" if entities == 1 else "entities"
    assert ran.out == f"{data / name}: {aspects} aspects of {entities} {noun}\n"
    assert ran.err == ""


def test_what_went_in_is_read_back(shop: Run) -> None:
    got = shop("get", ORDERS, "--json").json["aspects"]
    assert got["datasetProperties"]["value"]["name"] == "orders"
    assert got["ownership"]["value"]["owners"][0]["owner"] == "urn:li:corpuser:mara"
    paths = [field["fieldPath"] for field in got["schemaMetadata"]["value"]["fields"]]
    assert "shipping.address.zip" in paths


def test_standard_input_is_a_file_too(catalog: Run, data: Path) -> None:
    ran = catalog("load", "-", "--json", stdin=(data / "changes.json").read_bytes())
    assert ran.code == 0
    assert ran.json["files"] == [
        {"file": "standard input", "aspects": 3, "entities": 2, "refused": 0, "unanswered": 0}
    ]


def test_what_is_refused_is_told_with_place_urn_and_reason_and_loses_nothing_else(
    catalog: Run, data: Path
) -> None:
    ran = catalog("load", str(data / "partly_bad.json"))
    assert ran.code == 1
    assert "2 aspects of 1 entity, 3 refused" in ran.out
    unread, misfit, unknown = sorted(ran.err.splitlines(), key=lambda line: "change" in line)
    assert "record 2: hive.orders: position 0" in unread
    assert f"change 3: {CUSTOMERS} datasetProperties: " in misfit
    assert "description" in misfit
    assert f"change 4: {CUSTOMERS} shoeSize: " in unknown
    got = catalog("get", CUSTOMERS, "--json").json["aspects"]
    assert got["globalTags"]["value"]["tags"][0]["tag"] == "urn:li:tag:Finance"


def test_all_refusals_are_in_the_report_and_twenty_on_the_screen(
    catalog: Run, tmp_path: Path
) -> None:
    bad = [{"entityUrn": f"no urn {at}", "aspectName": "status"} for at in range(23)]
    (tmp_path / "bad.json").write_text(json.dumps(bad))
    report = tmp_path / "report.jsonl"
    ran = catalog("load", str(tmp_path / "bad.json"), "--report", str(report))
    assert ran.code == 1
    assert ran.err.count("refused: ") == 20
    assert "and 3 more" in ran.err
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    assert [line["record"] for line in lines] == list(range(1, 24))
    assert {line["file"] for line in lines} == {str(tmp_path / "bad.json")}
    assert lines[7]["urn"] == "no urn 7"
    assert all(line["reason"] for line in lines)


def test_a_file_that_cannot_be_read_loses_no_other(
    catalog: Run, data: Path, tmp_path: Path
) -> None:
    ran = catalog(
        "load",
        str(tmp_path / "missing.json"),
        str(data / "not_json.txt"),
        str(tmp_path),
        str(data / "changes.json"),
        "--json",
    )
    assert ran.code == 1
    assert [file["aspects"] for file in ran.json["files"]] == [0, 0, 0, 3]
    reasons = [refusal["reason"] for refusal in ran.json["refused"]]
    assert "No such file" in reasons[0]
    assert "not JSON" in reasons[1]
    assert "directory" in reasons[2]


def record(at: Any, value: Any) -> Any:
    urn = f"urn:li:dataset:(urn:li:dataPlatform:hive,batch.t{at},PROD)"
    return {"entityUrn": urn, "aspectName": "datasetProperties", "aspect": {"json": value}}


def test_more_than_a_batch_goes_in_around_a_bad_one(catalog: Run, tmp_path: Path) -> None:
    changes = [record(at, {"description": f"number {at}"}) for at in range(250)]
    changes[120] = record(120, {"description": ["a list"]})
    (tmp_path / "many.json").write_text(json.dumps(changes))
    ran = catalog("load", str(tmp_path / "many.json"), "--json")
    assert ran.code == 1
    assert (ran.json["aspects"], ran.json["entities"]) == (249, 249)
    (refusal,) = ran.json["refused"]
    assert refusal["change"] == 121
    assert "batch.t120" in refusal["urn"]


def test_a_report_that_cannot_be_written_is_told_before_anything_is_sent(
    catalog: Run, data: Path, tmp_path: Path
) -> None:
    report = tmp_path / "no such folder" / "report.jsonl"
    ran = catalog("load", str(data / "changes.json"), "--report", str(report))
    assert ran.code == 1
    assert "report cannot be written" in ran.err
    assert ran.out == ""


def test_a_server_that_is_not_there_is_exit_3_and_says_what_was_done(
    catalog: Run, data: Path
) -> None:
    ran = catalog("load", str(data / "changes.json"), "--json", url="http://127.0.0.1:1")
    assert ran.code == 3
    assert "127.0.0.1:1" in ran.json["stopped"]
    assert (ran.json["aspects"], ran.json["unanswered"]) == (0, 0)
    assert ran.err.startswith("error: ")


def test_a_server_that_goes_away_half_way_leaves_the_count_of_what_went_in(
    catalog: Run, tmp_path: Path
) -> None:
    class HangsUp(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        asked: ClassVar = []

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.asked.append(self.path)
            self.close_connection = len(self.asked) > 2
            if not self.close_connection:
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

        def log_message(self, *_: Any) -> None:
            pass

    file = tmp_path / "many.json"
    file.write_text(json.dumps([record(at, {"description": "x"}) for at in range(300)]))
    server = ThreadingHTTPServer(("127.0.0.1", 0), HangsUp)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        ran = catalog("load", str(file), "--json", url=f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert ran.code == 3
    assert (ran.json["aspects"], ran.json["entities"], ran.json["unanswered"]) == (200, 200, 100)


@pytest.mark.skipif(not REAL.exists(), reason="the real catalog files are not beside this checkout")
def test_the_real_files_go_in_whole(catalog: Run) -> None:
    ran = catalog("load", *(str(REAL / name) for name in REAL_FILES), "--json")
    assert ran.code == 0, ran.err
    assert ran.json["refused"] == []
    counts = [file["aspects"] for file in ran.json["files"]]
    assert all(counts)
    # The one is the other, converted by the real tool.
    assert counts[0] == counts[1] == 151


@pytest.mark.skipif(not REAL.exists(), reason="the real catalog files are not beside this checkout")
def test_json_that_is_no_metadata_is_refused(catalog: Run) -> None:
    ran = catalog("load", str(REAL / "model_registry.json"))
    assert ran.code == 1
    assert "expected proposedSnapshot, aspectName or buckets" in ran.err


def test_what_connectors_write_goes_in_and_types_that_nobody_knows_are_refused_alone(
    catalog: Run, data: Path
) -> None:
    ran = catalog("load", str(data / "connectors.json"), "--json")
    assert ran.code != 0
    (file,) = ran.json["files"]
    assert (file["aspects"], file["refused"]) == (7, 2)
    refused = {(one["urn"].split(":")[2], one["aspect"]) for one in ran.json["refused"]}
    assert refused == {("hologram", "hologramInfo"), ("dataset", "aspectOfTomorrow")}
    for urn, aspect, value in (
        ("urn:li:corpuser:users.ada@shop.example", "corpUserKey", {"username": "ada@shop.example"}),
        (
            "urn:li:dashboard:(powerbi,dashboards.7D668CAD)",
            "dashboardKey",
            {
                "dashboardTool": "powerbi",
                "dashboardId": "powerbi.linkedin.com/dashboards/7D668CAD",
            },
        ),
        (
            "urn:li:dataJob:(urn:li:dataFlow:(sqlite,shop,PROD),shop.stale)",
            "status",
            {"removed": True},
        ),
        (
            "urn:li:metric:(urn:li:dataPlatform:dbt,shop,revenue)",
            "metricInfo",
            {"name": "Revenue"},
        ),
    ):
        assert catalog("get", urn, "--json").json["aspects"][aspect]["value"] == value
    assert "urn:li:document:handbook.returns" in catalog("search", "returns", "--json").out


def test_shapes_of_many_connectors_go_in_whole_whatever_their_order(
    catalog: Run, data: Path
) -> None:
    """Tableau, Looker, Snowflake, dbt, Kafka, Airflow, Glue, BigQuery, MLflow, Unity, Power BI,
    Feast; structured properties before their definition, forms, assertions, incidents, contracts,
    queries, process instances; snapshots, proposals and both forms of patches."""
    ran = catalog("load", str(data / "connector_shapes.json"), "--json")
    assert ran.code == 0, ran
    assert ran.json["refused"] == []
    sales = "urn:li:dataset:(urn:li:dataPlatform:snowflake,test_db.test_schema.sales,PROD)"
    customers = "urn:li:dataset:(urn:li:dataPlatform:dbt,jaffle.marts.customers,PROD)"

    def found(*filters: Any) -> Any:
        words = [word for text in filters for word in ("--filter", text)]
        return catalog("search", "--urns", *words).out.split()

    field = "structuredProperties.snowflake.test_db.test_schema.my_tag"
    assert found(f"{field}:my_value") == [sales]
    assert found('tags:"dbt:nightly"') == [customers]
    page = catalog("get", sales).out
    assert "1 active incident" in page
    assert "Loads are late" in page
    assert "customer_id select customer_id" in catalog("get", customers).out
    for urn, aspect, key, value in (
        ("urn:li:chart:(powerbi,charts.B8E293DC)", "chartKey", "dashboardTool", "powerbi"),
        ("urn:li:form:123456", "formInfo", "type", "VERIFICATION"),
        ("urn:li:dataContract:675e930d", "dataContractStatus", "state", "ACTIVE"),
        ("urn:li:assertion:sql-of-sales", "assertionInfo", "type", "SQL"),
        (
            "urn:li:dataProcessInstance:5d666eaf9015a31b3e305e8bc2dba078",
            "dataProcessInstanceProperties",
            "name",
            "simple_dag_task_1_manual_run_test",
        ),
    ):
        assert catalog("get", urn, "--json").json["aspects"][aspect]["value"][key] == value
