"""Who may come in: tokens, host names, and whose name stands on what is written."""

import os
import socket
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from explorer.client import Catalog, Retry
from explorer.errors import Busy, InvalidInput, NotFound, Unusable
from explorer.server import serve as serve_catalog
from explorer.server.app import Service
from explorer.server.authentication import (
    Gate,
    Keyring,
    RateLimit,
    create_token,
    read_tokens,
    read_uses,
    revoke_token,
)
from explorer.server.catalog import CatalogEngine
from explorer.server.failures import RequestRefusal

ALICE = "urn:li:corpuser:alice"
CLOSED = [
    ("GET", "/metrics"),
    ("GET", "/changes"),
    ("GET", "/changes/stream"),
    ("GET", "/export"),
    ("GET", "/entitiesV2/urn%3Ali%3Atag%3Ax"),
    ("POST", "/entities?action=search"),
    ("POST", "/aspects?action=ingestProposal"),
    ("POST", "/api/graphql"),
    ("GET", "/there/is/nothing"),
    ("GET", "/healthy"),
    ("GET", "/config/../entities"),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tokens.json"


@pytest.fixture
def site(
    file: Path, catalog: CatalogEngine, serve: Callable[[Service], str]
) -> Iterator[Callable[..., httpx.Client]]:
    """Clients of a service that asks for the tokens of this test's file."""
    open_clients: list[httpx.Client] = []
    address: list[str] = []

    def connect(token: str | None = None, **headers: str) -> httpx.Client:
        if not address:
            address.append(serve(Service(catalog, gate=Gate(Keyring(file)))))
        if token:
            headers["Authorization"] = f"Bearer {token}"
        open_clients.append(httpx.Client(base_url=address[0], headers=headers, timeout=120))
        return open_clients[-1]

    yield connect
    for client in open_clients:
        client.close()


def becomes(client: httpx.Client, status: int) -> bool:
    """Whether the search is answered so within some seconds."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if client.get("/changes?limit=1").status_code == status:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(("method", "path"), CLOSED)
def test_nothing_is_told_without_a_token(
    file: Path, site: Callable[..., httpx.Client], method: str, path: str
) -> None:
    create_token(file, "a", ALICE)
    answer = site().request(method, path)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json() == {
        "exceptionClass": "com.linkedin.restli.server.RestLiServiceException",
        "message": "Unauthorized to perform this action.",
        "status": 401,
        "stackTrace": "",
    }


@pytest.mark.parametrize(
    "path",
    [
        "/health",
        "/health/live",
        "/health/ready",
        "/health/search",
        "/config",
        "/restli/docs",
        "/openapi.json",
    ],
)
def test_what_a_client_asks_first_needs_no_token(
    file: Path, site: Callable[..., httpx.Client], path: str
) -> None:
    create_token(file, "a", ALICE)
    assert site().get(path, follow_redirects=True).status_code == 200


def test_only_a_valid_token_opens(file: Path, site: Callable[..., httpx.Client]) -> None:
    good, _ = create_token(file, "good", ALICE)
    past, _ = create_token(file, "past", ALICE, expires_millis=1)
    gone, _ = create_token(file, "gone", ALICE)
    revoke_token(file, "gone")
    assert site(good).get("/changes").status_code == 200
    said = {
        client.get("/changes").text
        for client in (
            site(past),
            site(gone),
            site(good[:-1]),
            site(good + "x"),
            site("cat_000000000000_" + good.split("_", 2)[2]),
            site("nonsense"),
            site(Authorization="Basic __datahub_system:JohnSnowKnowsNothing"),
            site(Authorization=f"Basic {good}"),
            site(Authorization=good),
        )
    }
    assert len(said) == 1
    assert "Unauthorized to perform this action." in said.pop()
    assert site(Authorization=f"bearer {good}").get("/changes").status_code == 200


def test_a_running_server_learns_of_tokens_and_never_opens_again(
    file: Path, site: Callable[..., httpx.Client]
) -> None:
    nobody = site()
    assert nobody.get("/changes").status_code == 200
    token, _ = create_token(file, "first", ALICE)
    assert becomes(nobody, 401)
    alice = site(token)
    assert alice.get("/changes").status_code == 200
    revoke_token(file, "first")
    assert becomes(alice, 401)
    file.unlink()
    again, _ = create_token(file, "again", ALICE)
    assert becomes(site(again), 200)
    file.write_text("{")
    file.unlink()
    assert nobody.get("/changes").status_code == 401


def test_a_file_that_breaks_leaves_what_was_known(
    file: Path, site: Callable[..., httpx.Client]
) -> None:
    token, _ = create_token(file, "a", ALICE)
    alice, nobody = site(token), site()
    assert alice.get("/changes").status_code == 200
    file.write_text("not JSON")
    time.sleep(1.1)
    assert alice.get("/changes").status_code == 200
    assert nobody.get("/changes").status_code == 401


def test_the_token_says_who_writes(
    file: Path, catalog: CatalogEngine, site: Callable[..., httpx.Client], dataset: str
) -> None:
    token, _ = create_token(file, "a", ALICE, role="admin")
    http = site(token)

    def actor_of(aspect: str) -> str:
        answer = http.get(f"/aspects/{quote(dataset, safe='')}?aspect={aspect}&version=0")
        assert answer.status_code == 200, answer.text
        stored = catalog.store.aspect(dataset, aspect)
        assert stored is not None
        return stored.actor

    proposal = {
        "entityUrn": dataset,
        "entityType": "dataset",
        "changeType": "UPSERT",
        "aspectName": "datasetProperties",
        "aspect": {"value": '{"description":"one"}', "contentType": "application/json"},
        "auditHeader": {"actor": "urn:li:corpuser:mallory", "time": 0},
        "systemMetadata": {"runId": "alice-run"},
    }
    posted = http.post("/aspects?action=ingestProposal", json={"proposal": proposal})
    assert posted.status_code == 200, posted.text
    assert actor_of("datasetProperties") == ALICE

    query = "mutation($input: DescriptionUpdateInput!) { updateDescription(input: $input) }"
    column = {
        "entityType": "dataset",
        "entityUrn": dataset,
        "changeType": "UPSERT",
        "aspectName": "schemaMetadata",
        "aspect": {
            "value": '{"schemaName":"t","platform":"urn:li:dataPlatform:hive","version":0,'
            '"hash":"","platformSchema":{"com.linkedin.schema.OtherSchema":{"rawSchema":""}},'
            '"fields":[{"fieldPath":"id","nativeDataType":"int",'
            '"type":{"type":{"com.linkedin.schema.NumberType":{}}}}]}'
        },
    }
    assert http.post("/aspects?action=ingestProposal", json={"proposal": column}).is_success
    edit = {
        "description": "the id",
        "resourceUrn": dataset,
        "subResource": "id",
        "subResourceType": "DATASET_FIELD",
    }
    edited = http.post("/api/graphql", json={"query": query, "variables": {"input": edit}})
    assert edited.json()["data"] == {"updateDescription": True}, edited.text
    assert actor_of("editableSchemaMetadata") == ALICE

    before = catalog.store.log_bounds().head
    body = {"runId": "alice-run", "dryRun": False, "safe": True}
    rolled_back = http.post("/runs?action=rollback", json=body)
    assert rolled_back.status_code == 200, rolled_back.text
    actors = {row.actor for row in catalog.store.log(before, 100)}
    assert actors == {ALICE}


def test_tokens_are_kept_as_hashes_for_their_owner_only(file: Path) -> None:
    token, made = create_token(file, "a", ALICE)
    assert file.stat().st_mode & 0o777 == 0o600
    kept = file.read_text()
    assert token not in kept
    assert token.split("_", 2)[2] not in kept
    assert read_tokens(file) == (made,)


def test_a_name_is_free_again_once_its_token_is_not_valid(file: Path) -> None:
    create_token(file, "a", ALICE)
    with pytest.raises(InvalidInput, match="revoke it first"):
        create_token(file, "a", ALICE)
    revoke_token(file, "a")
    create_token(file, "a", ALICE)
    assert [token.name for token in read_tokens(file)] == ["a"]
    with pytest.raises(NotFound, match="known: a"):
        revoke_token(file, "b")
    with pytest.raises(InvalidInput, match="invalid token name"):
        create_token(file, "a\nb", ALICE)


@pytest.mark.parametrize(
    ("content", "mode", "told"),
    [
        ('{"format":1,"tokens":[]}', 0o644, "chmod 600"),
        ("{", 0o600, "damaged"),
        ('{"format":1,"tokens":[{"name":"a"}]}', 0o600, "damaged"),
        ('{"format":4,"tokens":[]}', 0o600, "upgrade"),
    ],
)
def test_a_server_does_not_start_on_a_token_file_it_cannot_trust(
    tmp_path: Path, content: str, mode: int, told: str
) -> None:
    file = tmp_path / "tokens.json"
    file.write_text(content)
    file.chmod(mode)
    with pytest.raises(Unusable, match=told) as raised:
        serve_catalog(host="127.0.0.1", port=0, data_dir=tmp_path, announce=print)
    assert str(file) in str(raised.value)


def test_a_token_file_that_others_could_read_counts_again_once_that_is_put_right(
    file: Path, site: Callable[..., httpx.Client], caplog: pytest.LogCaptureFixture
) -> None:
    shown, _ = create_token(file, "a", ALICE)
    client = site(shown)
    assert becomes(client, 200)
    file.chmod(0o644)
    revoked = file.read_text().replace('"sha256"', '"revoked_millis": 1, "sha256"')
    file.write_text(revoked)
    deadline = time.monotonic() + 60
    while "open to others" not in caplog.text and time.monotonic() < deadline:
        client.get("/changes?limit=1")
        time.sleep(0.05)
    assert "open to others" in caplog.text
    file.chmod(0o600)
    assert becomes(client, 401)


def test_a_named_token_file_must_be_there_and_closes_even_when_empty(tmp_path: Path) -> None:
    file = tmp_path / "named.json"
    with pytest.raises(Unusable, match="catalog token create"):
        Keyring(file, required=True)
    file.write_text('{"format":1,"tokens":[]}')
    file.chmod(0o600)
    assert Keyring(file, required=True).is_closed
    assert not Keyring(file).is_closed


def test_the_network_is_served_only_with_tokens(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="--allow-open"):
        serve_catalog(host="0.0.0.0", port=0, data_dir=tmp_path, announce=print)
    create_token(tmp_path / "tokens.json", "a", ALICE)
    with socket.create_server(("0.0.0.0", 0)) as taken, pytest.raises(Unusable, match="is in use"):
        # It gets as far as the port.
        serve_catalog(
            host="0.0.0.0", port=taken.getsockname()[1], data_dir=tmp_path, announce=print
        )


def test_a_name_that_others_reach_it_by_opens_nothing_without_tokens(tmp_path: Path) -> None:
    """A proxy in front passes on what comes from the network, to a port of this machine."""
    with pytest.raises(Unusable, match=r"--allow-host my.host, .* create a token") as raised:
        serve_catalog(
            host="127.0.0.1",
            port=0,
            data_dir=tmp_path,
            announce=print,
            allowed_hosts=("localhost", "my.host"),
        )
    assert "--allow-open" in str(raised.value)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
@pytest.mark.parametrize("named", [(), ("localhost",)])
def test_an_open_service_answers_for_named_hosts_only(
    tmp_path: Path, host: str, named: tuple[str, ...]
) -> None:
    with pytest.raises(Unusable, match="--allow-host NAME"):
        serve_catalog(
            host=host,
            port=0,
            data_dir=tmp_path,
            announce=print,
            open_to_network=True,
            allowed_hosts=named,
        )


@pytest.mark.parametrize("left", [None, '{"format":2,"tokens":[]}'])
def test_a_catalog_that_had_tokens_is_not_open_without_them(
    tmp_path: Path, left: str | None
) -> None:
    file = tmp_path / "tokens.json"
    create_token(file, "a", ALICE)
    file.unlink()
    if left is None:
        with pytest.raises(
            Unusable, match=r"is missing, .* restore a copy of it, or create a token"
        ):
            serve_catalog(host="127.0.0.1", port=0, data_dir=tmp_path, announce=print)
    else:
        file.write_text(left)
        file.chmod(0o600)
        assert Keyring(file).is_closed
    # What the message says: that is how it is opened again.
    file.unlink(missing_ok=True)
    (tmp_path / "tokens.json.used").unlink()
    assert not Keyring(file).is_closed


def test_tokens_from_before_their_use_was_kept_are_remembered_too(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    create_token(file, "a", ALICE)
    (tmp_path / "tokens.json.used").unlink()
    assert Keyring(file).is_closed
    file.unlink()
    with pytest.raises(Unusable, match="is missing"):
        Keyring(file)


def test_a_running_server_says_that_its_token_file_is_gone(
    file: Path, site: Callable[..., httpx.Client]
) -> None:
    token, _ = create_token(file, "a", ALICE)
    alice = site(token)
    assert alice.get("/changes").status_code == 200
    file.unlink()
    assert becomes(alice, 401)
    said = alice.get("/changes").json()["message"]
    assert "The token file of this server is missing" in said
    assert site().get("/changes").status_code == 401


def test_the_last_use_of_a_token_is_written_once_a_minute_at_most(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, made = create_token(file, "a", ALICE)
    other, second = create_token(file, "b", ALICE)
    assert read_uses(file) == {}
    keyring = Keyring(file)
    now = 1_000_000_000_000_000_000

    def use(token: str, seconds: float) -> dict[str, int]:
        monkeypatch.setattr(time, "time_ns", lambda: now + int(seconds * 1e9))
        assert keyring.token_of(token) is not None
        return read_uses(file)

    millis = now // 1_000_000
    assert use(shown, 0) == {made.id: millis}
    assert use(shown, 59) == {made.id: millis}
    # Written with another's, which was never written before.
    assert use(other, 59.5) == {made.id: millis + 59_000, second.id: millis + 59_500}
    assert use(shown, 60) == {made.id: millis + 59_000, second.id: millis + 59_500}
    assert use(shown, 119) == {made.id: millis + 119_000, second.id: millis + 59_500}
    use(shown, 130)
    keyring.close()
    assert read_uses(file)[made.id] == millis + 130_000
    assert keyring.token_of(shown + "x") is None
    assert read_uses(file)[made.id] == millis + 130_000


@pytest.mark.skipif(os.name != "posix", reason="a directory cannot be synchronised elsewhere")
def test_a_revoked_token_does_not_come_back_after_a_power_failure(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory is synchronised once it names the new file."""
    create_token(file, "a", ALICE)
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        done.append("directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def replaced(path: Path, target: Path) -> Path:
        done.append("replaced")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    revoke_token(file, "a")
    assert done == ["file", "replaced", "directory"]


@pytest.mark.parametrize(
    ("host", "passes"),
    [
        ("localhost", True),
        ("LOCALHOST:8080", True),
        ("127.0.0.1:9", True),
        ("[::1]:8080", True),
        ("127.9.9.9", True),
        ("catalog.example.com:443", True),
        ("catalog.example.com.", True),
        ("evil.example.com", False),
        ("localhost.evil.com", False),
        ("127.0.0.1.evil.com", False),
        ("10.0.0.1", False),
        ("", False),
    ],
)
def test_a_page_whose_name_was_made_to_point_here_is_refused(host: str, passes: bool) -> None:
    gate = Gate(hosts=("catalog.example.com",))
    headers = {b"host": host.encode()}
    if passes:
        assert gate.admit(headers, "/entities").role == "admin"
    else:
        with pytest.raises(RequestRefusal, match="--allow-host") as raised:
            gate.admit(headers, "/config")
        assert raised.value.status == 403
    # Probes ask by whatever address they know.
    assert gate.admit(headers, "/health").actor is None


def test_a_token_that_sends_too_much_is_told_when_to_come_again(
    file: Path, catalog: CatalogEngine, serve: Callable[[Service], str]
) -> None:
    tokens = {name: create_token(file, name, ALICE)[0] for name in ("busy", "other")}
    service = Service(catalog, gate=Gate(Keyring(file), limit=RateLimit(1)))
    with httpx.Client(base_url=serve(service), timeout=120) as client:

        def ask(name: str, path: str = "/changes?limit=1") -> httpx.Response:
            return client.get(path, headers={"Authorization": f"Bearer {tokens[name]}"})

        assert ask("busy").status_code == 200
        answer = ask("busy")
        assert answer.status_code == 429
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        assert "may send 1 requests a minute;" in answer.json()["message"]
        assert ask("other").status_code == 200
        # Those who look whether the service is well are not counted.
        assert {ask("busy", "/health").status_code for _ in range(5)} == {200}
    retry = Retry(tries=1)
    with (
        Catalog(str(client.base_url), token=tokens["busy"], retry=retry) as refused,
        pytest.raises(Busy) as told,
    ):
        refused.search("x")
    assert told.value.retry_after_seconds is not None


def test_a_limit_counts_requests_as_time_goes_by(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000.0]
    monkeypatch.setattr("explorer.server.authentication.time.monotonic", lambda: now[0])
    limit = RateLimit(60)
    for _ in range(60):
        limit.take("a")
    with pytest.raises(RequestRefusal, match="try again in 1 s"):
        limit.take("a")
    now[0] += 2
    limit.take("a")
    limit.take("a")
    with pytest.raises(RequestRefusal):
        limit.take("a")
    # Whoever was quiet for long has no more than a minute's worth.
    now[0] += 3_600
    for _ in range(60):
        limit.take("a")
    with pytest.raises(RequestRefusal):
        limit.take("a")
    # Tokens without end do not fill the memory.
    for number in range(10_001):
        now[0] += 60
        limit.take(f"token-{number}")
    assert len(limit._left) < 10
