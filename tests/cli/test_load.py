"""Loading: every form goes in, what is refused is told, and nothing else is lost."""

import errno
import gzip
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Any, Self

import pytest
import zstandard

from explorer.cli import ingestion
from explorer.metadata.files import MetadataFile, Refused
from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import load_registry
from explorer.server.app import Service
from explorer.server.data_directory import open_catalog
from tests.cli.conftest import Run
from tests.conftest import serving

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
        {
            "file": "standard input",
            "aspects": 3,
            "entities": 2,
            "refused": 0,
            "resumed_at": 0,
            "unanswered": 0,
        }
    ]


def test_what_is_refused_is_told_with_place_urn_and_reason_and_loses_nothing_else(
    catalog: Run, data: Path
) -> None:
    ran = catalog("load", str(data / "partly_bad.json"))
    assert ran.code == 1
    assert "2 aspects of 1 entity, 3 rejected" in ran.out
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
    assert ran.err.count("rejected: ") == 20
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
    assert "cannot write the report" in ran.err
    assert ran.out == ""


def test_a_server_that_is_not_there_is_exit_3_and_says_what_was_done(
    catalog: Run, data: Path
) -> None:
    ran = catalog("load", str(data / "changes.json"), "--json", url="http://127.0.0.1:1")
    assert ran.code == 3
    assert "127.0.0.1:1" in ran.json["stopped"]
    assert (ran.json["aspects"], ran.json["unanswered"]) == (0, 0)
    assert ran.err.startswith("error: ")


class Fickle:
    """A server that hangs up after so many requests, until it is told to stay."""

    def __init__(self, answers: int) -> None:
        self.answers: float = answers
        self.changes: list[Any] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.answers -= 1
                self.close_connection = outer.answers < 0
                if not self.close_connection:
                    asked = json.loads(body)
                    outer.changes += asked.get("proposals") or [asked["proposal"]]
                    self.send_response(200)
                    self.send_header("Content-Length", "2")
                    self.end_headers()
                    self.wfile.write(b"{}")

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def urns(self) -> set[str]:
        return {one["entityUrn"] for one in self.changes}


def test_a_server_that_goes_away_half_way_leaves_the_count_of_what_went_in(
    catalog: Run, tmp_path: Path
) -> None:
    file = tmp_path / "many.json"
    file.write_text(json.dumps([record(at, {"description": "x"}) for at in range(500)]))
    with Fickle(2) as server:
        ran = catalog("load", str(file), "--json", url=server.url)
    assert ran.code == 3
    assert ran.json["aspects"] == ran.json["entities"] == len(server.urns)
    assert ran.json["aspects"] in (300, 400)
    assert ran.json["unanswered"] == 500 - ran.json["aspects"]


@pytest.mark.parametrize("form", ["a list", "lines"])
def test_a_load_that_was_interrupted_goes_on_where_it_was(
    catalog: Run, tmp_path: Path, form: str
) -> None:
    records = [record(at, {"description": "x"}) for at in range(1900)]
    small, large = tmp_path / "small.json", tmp_path / "large.json"
    small.write_text(json.dumps([record("small", {})]))
    text = json.dumps(records) if form == "a list" else "\n".join(map(json.dumps, records))
    large.write_text(text)
    with Fickle(8) as server:
        ran = catalog("load", str(small), str(large), url=server.url)
        assert ran.code == 3
        assert "run the same command with --resume" in ran.err
        before = len(server.changes)
        assert 400 < before < 1901
        server.answers = 1000
        ran = catalog("load", str(small), str(large), "--resume", "--json", url=server.url)
        assert ran.code == 0, ran
        assert len(server.urns) == 1901
        again = len(server.changes) - 1901
        # What was under way when it ended is sent once more, and what went in before it is not.
        assert again <= 800
        done, gone_on = ran.json["files"]
        assert (done["aspects"], done["resumed_at"]) == (0, 0)
        assert gone_on["resumed_at"] >= 400 - 1
        assert gone_on["aspects"] == 1900 - gone_on["resumed_at"]
        # Nothing is left to go on with: it is sent as a whole.
        server.changes.clear()
        assert catalog("load", str(large), "--resume", url=server.url).code == 0
        assert len(server.changes) == 1900


def test_changes_of_an_entity_are_written_in_the_order_of_the_file(
    catalog: Run, tmp_path: Path
) -> None:
    file = tmp_path / "mixed.json"
    entities = [at // 5 if at % 3 else at % 7 for at in range(1500)]
    records = [record(entity, {"description": str(at)}) for at, entity in enumerate(entities)]
    file.write_text("\n".join(map(json.dumps, records)))
    with Fickle(100) as server:
        assert catalog("load", str(file), url=server.url).code == 0
    assert len(server.changes) == 1500
    numbers: dict[str, list[int]] = {}
    for change in server.changes:
        described = json.loads(change["aspect"]["value"])["description"]
        numbers.setdefault(change["entityUrn"], []).append(int(described))
    assert all(order == sorted(order) for order in numbers.values())


def test_what_was_read_before_a_disk_failed_is_written(
    catalog: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(MetadataFile):
        def __iter__(self) -> Iterator[Proposal | Refused]:
            yield from islice(super().__iter__(), 900)
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(ingestion, "MetadataFile", Failing)
    file = tmp_path / "many.json"
    file.write_text(json.dumps([record(at, {"description": "x"}) for at in range(1000)]))
    with Fickle(100) as server:
        ran = catalog("load", str(file), "--json", url=server.url)
    assert ran.code == 1
    assert ran.json["refused"][0]["reason"] == "cannot be read: Input/output error"
    assert ran.json["aspects"] == len(server.urns) >= 800


@pytest.mark.nightly
def test_a_load_that_filled_the_disk_goes_on_when_there_is_room(
    catalog: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def limit(pages: int) -> Callable[[Any], None]:
        return lambda transaction: transaction._run(f"PRAGMA max_page_count = {pages}")

    file = tmp_path / "large.json"
    records = [record(at, {"description": f"{at} " * 200}) for at in range(1900)]
    file.write_text(json.dumps(records))
    (tmp_path / "data").mkdir()
    engine = open_catalog(tmp_path / "data", load_registry())
    try:
        with serving(Service(engine)) as url:
            engine.store.write(limit(500)).result()
            ran = catalog("load", str(file), url=url)
            assert ran.code == 3
            assert "the disk of the catalog is full; make room there" in ran.err
            assert "run the same command with --resume" in ran.err
            assert "rejected" not in ran.out + ran.err
            engine.store.write(limit(100_000)).result()
            assert catalog("load", str(file), "--resume", url=url).code == 0
        assert engine.store.count(entity_type="dataset") == len(records)
    finally:
        engine.close()
    assert caplog.text.count("catalog.db is full") == 1


def test_a_file_that_was_changed_is_not_gone_on_with(catalog: Run, tmp_path: Path) -> None:
    file = tmp_path / "changed.json"
    records = [record(at, {"description": "x"}) for at in range(900)]
    file.write_text(json.dumps(records))
    with Fickle(3) as server:
        assert catalog("load", str(file), url=server.url).code == 3
        file.write_text(json.dumps(records[1:]))
        server.answers = 100
        ran = catalog("load", str(file), "--resume", url=server.url)
        assert ran.code == 1
        assert (
            "changed.json has changed since the interrupted load; load it without --resume"
            in ran.err
        )
        assert catalog("load", str(file), url=server.url).code == 0


def test_standard_input_is_not_gone_on_with(catalog: Run) -> None:
    ran = catalog("load", "-", "--resume", stdin=b"[]")
    assert ran.code == 2
    assert "--resume works only with files" in ran.err


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_a_compressed_file_goes_in_also_by_standard_input(
    catalog: Run, data: Path, tmp_path: Path, compress: Any
) -> None:
    packed = compress((data / "changes.json").read_bytes())
    (tmp_path / "packed").write_bytes(packed)
    for ran in (catalog("load", str(tmp_path / "packed")), catalog("load", "-", stdin=packed)):
        assert ran.code == 0, ran
        assert "3 aspects of 2 entities" in ran.out


def test_what_comes_before_a_fault_goes_in_and_the_fault_is_told(
    catalog: Run, tmp_path: Path
) -> None:
    file = tmp_path / "cut.json"
    file.write_text(json.dumps([record(f"cut{at}", {}) for at in range(3)])[:-20])
    ran = catalog("load", str(file))
    assert ran.code == 1
    assert "2 aspects of 2 entities, 1 rejected" in ran.out
    assert "record 3: not JSON" in ran.err
    assert "the rest of the file is not read" in ran.err


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
    assert "unique customer_id of customers" in catalog("get", customers).out
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
