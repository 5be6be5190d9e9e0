"""The audit log: who changed what, and who was refused; none is lost on an orderly stop, and no
token and no body is in it."""

import json
import stat
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx
import msgspec
import pytest

from explorer.errors import StorageFault
from explorer.server.app import Service
from explorer.server.audit_log import (
    AUDIT_FILE,
    AuditFile,
    AuditLog,
    AuditRecord,
    Line,
    read_records,
)
from explorer.server.authentication import (
    ROLES,
    Gate,
    Keyring,
    RateLimit,
    Role,
    create_token,
    revoke_token,
)
from explorer.server.catalog import CatalogEngine
from explorer.server.data_directory import open_access
from explorer.server.store import StoreUnavailable
from tests.conftest import SmallDisk, serving
from tests.postgres import Cluster
from tests.server.conftest import Caller
from tests.server.test_replicas import eventually
from tests.server.test_roles import call_of, status_of

TAG = "urn:li:tag:audited"
TABLE = "urn:li:dataset:(urn:li:dataPlatform:hive,audited,PROD)"


class Office:
    """A service that keeps an audit log, and callers with a token of each role."""

    def __init__(self, address: str, log: AuditLog, sink: Any, tokens: dict[Role, str]) -> None:
        self.log = log
        self.tokens = tokens
        self._address = address
        self._sink = sink
        self._open = ExitStack()

    def caller(self, role: Role | None, **headers: str) -> httpx.Client:
        if role is not None:
            headers["Authorization"] = f"Bearer {self.tokens[role]}"
        return self._open.enter_context(
            httpx.Client(base_url=self._address, headers=headers, timeout=120)
        )

    def records(self) -> list[AuditRecord]:
        """What was kept until now, the oldest first; the log is closed for it."""
        self.log.close()
        return list(read_records(self._sink))[::-1]

    def close(self) -> None:
        self._open.close()
        self.log.close()


@pytest.fixture(params=["files", "postgresql"])
def office(
    request: pytest.FixtureRequest, catalog: CatalogEngine, tmp_path: Path
) -> Iterator[Office]:
    with ExitStack() as held:
        sink: Any = AuditFile(tmp_path)
        if request.param == "postgresql":
            sink = open_access(request.getfixturevalue("postgres").new_schema())
            held.callback(sink.close)
        log = AuditLog(sink)
        file = tmp_path / "tokens.json"
        tokens = {
            role: create_token(file, role, f"urn:li:corpuser:{role}", role=role)[0]
            for role in ROLES
        }
        service = Service(catalog, gate=Gate(Keyring(file), (), limit=RateLimit(100)), audit=log)
        found = Office(held.enter_context(serving(service)), log, sink, tokens)
        held.callback(found.close)
        yield found


def proposal(value: dict[str, Any]) -> dict[str, Any]:
    return {
        "proposal": {
            "entityType": "tag",
            "entityUrn": TAG,
            "changeType": "UPSERT",
            "aspectName": "tagProperties",
            "aspect": {"value": json.dumps(value), "contentType": "application/json"},
        }
    }


def graphql(client: httpx.Client, document: str) -> Any:
    answer = client.post("/api/graphql", json={"query": document})
    assert answer.status_code == 200
    return answer.json()


def test_who_changed_what_is_kept(office: Office) -> None:
    editor = office.caller("editor", **{"X-Forwarded-For": "203.0.113.7", "X-Request-Id": "r-1"})
    ingest = "/aspects?action=ingestProposal"
    assert editor.post(ingest, json=proposal({"name": "very secret text"})).status_code == 200
    assert editor.post(ingest, json=proposal({"name": 5})).status_code == 422
    made = graphql(
        editor,
        'mutation { made: createTag(input: {id: "audited2", name: "a"}) '
        'gone: updateDescription(input: {description: "b", resourceUrn: "urn:li:tag:none"}) }',
    )
    assert made["data"]["made"] == "urn:li:tag:audited2"
    patched = editor.post(
        "/openapi/v3/entity/tag", json=[{"urn": TAG, "tagProperties": {"value": {"name": "c"}}}]
    )
    assert patched.status_code == 200, patched.text
    status = f"/openapi/v3/entity/tag/{quote(TAG, safe='')}/status"
    assert editor.post(status, json={"value": {"removed": False}}).status_code == 200
    admin = office.caller("admin")
    assert admin.delete(status).status_code == 200
    assert admin.delete(f"/openapi/v3/entity/tag/{quote(TAG, safe='')}").status_code == 200
    assert (
        admin.post("/entities?action=delete", json={"urn": "urn:li:tag:audited2"}).status_code
        == 200
    )
    # Reading is not recorded.
    assert graphql(editor, "{ me { corpUser { urn } } }")["data"]
    assert editor.post("/openapi/v3/entity/tag/batchGet", json=[{"urn": TAG}]).status_code == 200
    kept = office.records()
    assert [(one.action, one.outcome, one.status, one.urns) for one in kept] == [
        ("POST /aspects?action=ingestProposal", "done", 200, (TAG,)),
        ("POST /aspects?action=ingestProposal", "failed", 422, (TAG,)),
        ("mutation createTag", "done", 200, ("urn:li:tag:audited2",)),
        ("mutation updateDescription", "failed", 404, ("urn:li:tag:none",)),
        ("POST /openapi/v3/entity/<entity>", "done", 200, (TAG,)),
        ("POST /openapi/v3/entity/<urn>/<aspect>", "done", 200, (TAG,)),
        ("DELETE /openapi/v3/entity/<urn>/<aspect>", "done", 200, (TAG,)),
        ("DELETE /openapi/v3/entity/<urn>", "done", 200, (TAG,)),
        ("POST /entities?action=delete", "done", 200, ("urn:li:tag:audited2",)),
    ]
    first = kept[0]
    assert (first.actor, first.credential) == ("urn:li:corpuser:editor", "token:editor")
    assert (first.client, first.forwarded_for, first.request_id) == (
        *("127.0.0.1", "203.0.113.7"),
        "r-1",
    )
    assert kept[-1].actor == "urn:li:corpuser:admin"
    told = str(kept)
    assert "secret" not in told
    # A secret may have underscores itself.
    assert not any(token.split("_", 2)[2] in told for token in office.tokens.values())


def test_what_was_changed_is_kept_whatever_else_a_request_names(office: Office) -> None:
    editor, admin = office.caller("editor"), office.caller("admin")
    junk = {f"k{number}": number for number in range(300)} | {"urn": "urn:li:tag:innocent"}
    ingest = "/aspects?action=ingestProposal"
    body = {**junk, **proposal({"name": "changed"})}
    body["proposal"]["systemMetadata"] = {"runId": "run-of-an-audit"}
    assert editor.post(ingest, json=body).status_code == 200
    tags = json.dumps(["urn:li:tag:one"] * 300)
    document = (
        f"mutation {{ batchAddTags(input: {{tagUrns: {tags}, "
        f'resources: [{{resourceUrn: "{TABLE}"}}]}}) }}'
    )
    tag = {**proposal({"name": "one"})["proposal"], "entityUrn": "urn:li:tag:one"}
    described = {"value": json.dumps({"description": "x"}), "contentType": "application/json"}
    more = {"entityType": "dataset", "entityUrn": TABLE, "aspectName": "datasetProperties"}
    for change in (tag, {**tag, **more, "aspect": described}):
        assert editor.post(ingest, json={"proposal": change}).status_code == 200
    assert graphql(editor, document)["data"]["batchAddTags"] is True
    undo = {**junk, "runId": "run-of-an-audit", "dryRun": False}
    assert admin.post("/runs?action=rollback", json=undo).status_code == 200
    records = office.records()
    assert records[0].urns == (TAG,)
    assert records[3].urns == (TABLE,)
    assert records[-1].urns == ("run-of-an-audit", TAG)


def test_events_of_openlineage_are_kept_with_their_runs(office: Office) -> None:
    def event(run: str, **facets: Any) -> dict[str, Any]:
        return {
            "eventType": "START",
            "eventTime": "2024-05-01T12:00:00Z",
            "producer": "https://github.com/OpenLineage/OpenLineage",
            "run": {"runId": run, "facets": facets},
            "job": {"namespace": "batch", "name": job},
        }

    job = f"audited.{uuid4().hex}"
    runs = [f"01909d9f-0000-7000-8000-00000000000{at}" for at in range(3)]
    # What a facet holds is not what is changed.
    named = event(runs[0], tool={"urn": "urn:li:tag:other", "resource": "elsewhere"})
    batch = [event(runs[1]), event(runs[2]), event(runs[1]), {"run": 5}]
    editor = office.caller("editor")
    assert editor.post("/api/v1/lineage", json=named).status_code == 200
    assert editor.post("/api/v1/lineage/batch", json=batch).status_code == 400
    assert editor.post("/api/v1/lineage", json=[]).status_code == 400
    records = office.records()
    told = [[urn for urn in record.urns if not urn.startswith("urn:")] for record in records]
    assert [record.status for record in records] == [200, 400, 400]
    assert told == [[runs[0]], [runs[1], runs[2]], []]
    assert any(urn.startswith("urn:li:dataJob:") for urn in records[0].urns)
    assert "urn:li:tag:other" not in records[0].urns


def test_refused_attempts_are_kept(office: Office) -> None:
    assert office.caller(None).get("/changes").status_code == 401
    nobody = office.caller(None, Authorization="Bearer cat_000000000000_guessed")
    for number in range(30):
        assert nobody.get(f"/there/is/nothing/{number}?token=hidden").status_code == 401
    stranger = office.caller(None, Host="elsewhere.example")
    for number in range(30):
        assert stranger.get(f"/there/is/nothing/{number}").status_code == 403
    reader = office.caller("reader")
    assert reader.get("/export").status_code == 403
    document = f'mutation {{ addTag(input: {{tagUrn: "{TAG}", resourceUrn: "{TAG}"}}) }}'
    assert graphql(reader, document)["errors"]
    assert reader.post("/openapi/v3/entity/tag", json=[{"urn": TAG}]).status_code == 403
    statuses = [reader.get("/changes?limit=1").status_code for _ in range(150)]
    assert 429 in statuses
    kept = office.records()
    assert {one.outcome for one in kept} == {"refused"}
    # Those of a moment are one record: nobody fills the log without a token.
    for status in (401, 403):
        unsigned = [one for one in kept if one.status == status and one.actor is None]
        assert sum(one.times for one in unsigned) == 30
        assert len(unsigned) < 30
        assert unsigned[0].action.startswith("GET /there/is/nothing/")
    assert "hidden" not in str(kept)
    assert "guessed" not in str(kept)
    forbidden = [
        (one.action, one.actor, one.urns) for one in kept if one.actor and one.status == 403
    ]
    assert forbidden == [
        ("GET /export", "urn:li:corpuser:reader", ()),
        ("mutation addTag", "urn:li:corpuser:reader", (TAG,)),
        ("POST /openapi/v3/entity/<entity>", "urn:li:corpuser:reader", ()),
    ]
    assert sum(one.times for one in kept if one.status == 429) == statuses.count(429)


def test_a_token_that_has_ended_is_named(office: Office, tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    brief, _ = create_token(file, "brief", "urn:li:corpuser:ann", expires_millis=1_700_000_000_000)
    revoke_token(file, "reader")
    forged = f"{brief.rpartition('_')[0]}_guessed"
    reader = office.caller("reader")
    eventually(lambda: reader.get("/changes?limit=1").status_code == 401)
    for shown in (brief, forged):
        caller = office.caller(None, Authorization=f"Bearer {shown}")
        assert caller.get("/changes?limit=1").status_code == 401
    kept = [(one.actor, one.credential) for one in office.records() if one.status == 401]
    assert dict.fromkeys(kept) == dict.fromkeys(
        [
            ("urn:li:corpuser:reader", "token:reader"),
            ("urn:li:corpuser:ann", "token:brief"),
            (None, None),
        ]
    )


def test_every_change_by_an_endpoint_or_mutation_is_recorded(
    office: Office, catalog: CatalogEngine
) -> None:
    """By the roles that they declare, so that a new one cannot be forgotten."""
    service = Service(catalog)
    editor = office.caller("editor")
    expected = []
    for endpoint in service.endpoints:
        if endpoint.role == "editor":
            status_of(editor, endpoint)
            expected.append(endpoint.title)
    schema = service.graphql.ready().schema
    assert schema.mutation_type is not None
    for name in list(schema.mutation_type.fields)[:20]:
        graphql(editor, f"mutation {{ {call_of(schema, name)} }}")
        expected.append(f"mutation {name}")
    assert [one.action for one in office.records()] == expected


def test_a_change_is_recorded_once_it_is_stored(catalog: CatalogEngine, tmp_path: Path) -> None:
    file = AuditFile(tmp_path)
    log = AuditLog(file)
    go_on = threading.Event()

    def write(http: httpx.Client, value: str) -> httpx.Response:
        proposal = {
            "entityType": "tag",
            "entityUrn": TAG,
            "changeType": "UPSERT",
            "aspectName": "tagProperties",
            "aspect": {"value": value},
        }
        return http.post("/aspects?action=ingestProposal", json={"proposal": proposal})

    with (
        serving(Service(catalog, audit=log)) as address,
        httpx.Client(base_url=address, timeout=120) as http,
        ThreadPoolExecutor() as pool,
    ):
        try:
            stuck = catalog.store.write(lambda _: go_on.wait(120))
            answer = pool.submit(write, http, '{"name": "audited"}')
            # It fails before the store is asked, so its record comes first.
            assert write(http, "[]").status_code == 422
            eventually(lambda: [one.status for one in read_records(file)] == [422])
            assert not answer.done()
        finally:
            go_on.set()
        stuck.result(120)
        assert answer.result(120).status_code == 200
    log.close()
    assert [one.status for one in read_records(file)] == [200, 422]


def lines(*numbers: int) -> list[Line]:
    return [(at, msgspec.json.encode(AuditRecord(at, "done", 200, f"a{at}"))) for at in numbers]


def test_a_file_begins_anew_and_old_ones_go(tmp_path: Path) -> None:
    file = AuditFile(tmp_path, most_bytes=100)
    for at in range(1, 7):
        file.append_audit("", lines(at))
    assert len(list(tmp_path.glob("audit-*.jsonl"))) > 1
    assert stat.S_IMODE((tmp_path / AUDIT_FILE).stat().st_mode) == 0o600
    assert [one.time_millis for one in read_records(file)] == [6, 5, 4, 3, 2, 1]
    with (tmp_path / AUDIT_FILE).open("ab") as cut:
        cut.write(b'{"time_mil')
    assert next(read_records(file)).time_millis == 6
    file.trim_audit(0)
    assert len(list(read_records(file))) == 6
    file.trim_audit(2**62)
    assert list(tmp_path.glob("audit-*.jsonl")) == []
    assert [one.time_millis for one in read_records(file)][-1] > 1


def test_what_follows_a_line_that_was_cut_off_is_not_lost_with_it(tmp_path: Path) -> None:
    file = AuditFile(tmp_path)
    (tmp_path / AUDIT_FILE).write_bytes(b'{"time_mil')
    file.append_audit("", lines(1))
    assert [one.time_millis for one in read_records(file)] == [1]


def test_a_batch_that_found_no_room_is_kept_once_and_whole(small_disk: SmallDisk) -> None:
    file = AuditFile(small_disk.path)
    file.append_audit("", lines(1))
    small_disk.fill()
    batch = lines(*range(2, 200))
    with pytest.raises(StorageFault, match="No space left"):
        file.append_audit("", batch)
    assert [one.time_millis for one in read_records(file)] == [1]
    small_disk.empty()
    file.append_audit("", batch)
    assert [one.time_millis for one in read_records(file)] == [*range(199, 0, -1)]


def test_a_database_keeps_each_batch_once_and_no_longer_than_was_asked(postgres: Cluster) -> None:
    shared = open_access(postgres.new_schema())
    batch = "00000000-0000-0000-0000-000000000001"
    for _ in range(2):
        shared.append_audit(batch, lines(1, 2))
    assert [one.time_millis for one in read_records(shared)] == [2, 1]
    log = AuditLog(shared, keep_days=1)
    log.close()
    assert list(read_records(shared)) == []
    shared.close()


class Away(AuditFile):
    """A sink that cannot be reached at first."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.tries = 0
        self.is_away = True

    def append_audit(self, batch: str, lines: Sequence[Line]) -> None:
        self.tries += 1
        if self.is_away:
            raise StoreUnavailable("the database is away")
        super().append_audit(batch, lines)


@pytest.mark.nightly
def test_records_wait_for_a_database_that_is_away(
    caller: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.server.audit_log._STOP_SECONDS", 0.2)
    (tmp_path / "spill").mkdir()
    sink, spill = Away(tmp_path), AuditFile(tmp_path / "spill")
    log = AuditLog(sink, spill)
    with (
        serving(Service(caller.catalog, audit=log)) as address,
        httpx.Client(base_url=address, timeout=120) as client,
    ):
        client.post("/aspects?action=ingestProposal", json=proposal({"name": "a"}))
        eventually(lambda: sink.tries > 1)
        sink.is_away = False
        eventually(lambda: len(list(read_records(sink))) == 1)
        sink.is_away = True
        client.post("/aspects?action=ingestProposal", json=proposal({"name": "b"}))
    log.close()
    assert len(list(read_records(sink))) == 1
    # What could not be kept there until the end is in the directory of the service.
    (left,) = read_records(spill)
    assert left.urns == (TAG,)
