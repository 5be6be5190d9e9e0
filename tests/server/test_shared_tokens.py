"""Access tokens in the database of several services: what is made or revoked anywhere counts
everywhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import httpx
import psycopg
import pytest

from explorer.errors import Busy, InvalidInput, NotFound
from explorer.server.app import Service
from explorer.server.authentication import (
    Gate,
    SharedKeyring,
    create_token,
    read_tokens,
    revoke_token,
    take_over_file,
    uses_file,
)
from explorer.server.data_directory import open_access, open_store
from explorer.server.store.postgresql import PostgresAccess
from tests.conftest import serving
from tests.postgres import Cluster
from tests.server.test_replicas import eventually, opened

ALICE = "urn:li:corpuser:alice"


@pytest.fixture
def database(postgres: Cluster) -> str:
    return postgres.new_schema()


@pytest.fixture
def access(database: str) -> Iterator[PostgresAccess]:
    shared = open_access(database)
    yield shared
    shared.close()


@pytest.fixture
def keyring(database: str) -> Iterator[Callable[[], SharedKeyring]]:
    """Keyrings of services of this test's database."""
    made: list[SharedKeyring] = []

    def make() -> SharedKeyring:
        made.append(SharedKeyring(open_access(database)))
        return made[-1]

    yield make
    for one in made:
        one.close()


def is_held(keyring: SharedKeyring, shown: str) -> bool:
    return keyring.token_of(shown) is not None


def test_all_services_of_a_database_know_its_tokens(database: str, tmp_path: Path) -> None:
    with ExitStack() as held:
        clients = []
        for name in ("one", "two"):
            catalog = held.enter_context(opened(tmp_path / name, database))
            keyring = SharedKeyring(open_access(database))
            held.callback(keyring.close)
            address = held.enter_context(serving(Service(catalog, gate=Gate(keyring))))
            clients.append(held.enter_context(httpx.Client(base_url=address, timeout=120)))
        for client in clients:
            assert client.get("/changes").status_code == 200
        access = open_access(database)
        held.callback(access.close)
        shown, made = create_token(access, "nightly", ALICE, role="reader")
        assert made.role == "reader"
        signed = {"Authorization": f"Bearer {shown}"}
        for client in clients:
            eventually(partial(answers, client, 401))
            eventually(partial(answers, client, 200, signed))
            refused = client.post("/aspects?action=ingestProposal", json={}, headers=signed)
            assert refused.status_code == 403
        revoke_token(access, "nightly")
        for client in clients:
            eventually(partial(answers, client, 401, signed))


def answers(client: httpx.Client, status: int, headers: dict[str, str] | None = None) -> bool:
    return client.get("/changes", headers=headers).status_code == status


def test_a_database_holds_no_token_but_its_hash(database: str, access: PostgresAccess) -> None:
    shown, made = create_token(access, "a", ALICE)
    with psycopg.connect(database) as raw:
        rows = raw.execute("SELECT t::text FROM tokens t").fetchall()
    assert made.sha256 in rows[0][0]
    # A secret may have underscores itself.
    assert shown.split("_", 2)[2] not in str(rows)


def test_names_are_used_again_once_their_token_opens_nothing(access: PostgresAccess) -> None:
    create_token(access, "a", ALICE)
    with pytest.raises(InvalidInput, match="valid token named a"):
        create_token(access, "a", ALICE)
    revoke_token(access, "a")
    assert [one.state(0) for one in access.tokens()] == ["revoked"]
    _, second = create_token(access, "a", ALICE)
    assert access.tokens() == (second,)
    with pytest.raises(NotFound, match="known: a"):
        revoke_token(access, "b")


def test_the_last_use_by_any_service_is_kept(
    access: PostgresAccess, keyring: Callable[[], SharedKeyring]
) -> None:
    shown, made = create_token(access, "a", ALICE)
    one, two = keyring(), keyring()
    assert is_held(one, shown)
    used_at = one._uses[made.id]
    time.sleep(0.002)
    assert is_held(two, shown)
    two.close()
    latest = access.uses()[made.id]
    assert latest > used_at
    # What was used earlier does not put the time back.
    one.close()
    assert access.uses() == {made.id: latest}


def test_the_tokens_of_a_data_directory_go_into_the_database_once(
    access: PostgresAccess, keyring: Callable[[], SharedKeyring], tmp_path: Path
) -> None:
    file = tmp_path / "tokens.json"
    assert take_over_file(file, access) == 0
    shown, made = create_token(file, "old", ALICE, role="reader")
    assert take_over_file(file, access) == 1
    assert access.tokens() == (made,)
    assert not file.exists()
    assert uses_file(file).exists()
    assert read_tokens(tmp_path / "tokens.json.moved") == (made,)
    assert is_held(keyring(), shown)
    revoke_token(access, "old")
    assert take_over_file(file, access) == 0
    # Another service had a token of that name too: both are revoked by it.
    other = tmp_path / "other" / "tokens.json"
    create_token(other, "old", ALICE)
    take_over_file(other, access)
    revoke_token(access, "old")
    assert {one.state(0) for one in access.tokens()} == {"revoked"}


def test_without_the_database_known_tokens_count_for_a_while(
    access: PostgresAccess,
    keyring: Callable[[], SharedKeyring],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown, _ = create_token(access, "a", ALICE)
    known = keyring()
    # The connection ends, and is made again.
    known._shared._raw.close()  # type: ignore[attr-defined]
    later, _ = create_token(access, "b", ALICE)
    eventually(lambda: is_held(known, later))
    known._shared._address = "postgresql://root@127.0.0.1:1/none"  # type: ignore[attr-defined]
    known._shared._raw.close()  # type: ignore[attr-defined]
    assert is_held(known, shown)
    monkeypatch.setattr("explorer.server.authentication._BLIND_SECONDS", 0.0)
    eventually(lambda: raises_busy(known, shown))


def raises_busy(keyring: SharedKeyring, shown: str) -> bool:
    try:
        keyring.token_of(shown)
    except Busy:
        return True
    return False


def test_a_database_of_a_release_without_them_gets_tokens_while_that_release_is_at_work(
    database: str,
) -> None:
    older = open_store(Path("unused"), database)
    try:
        with psycopg.connect(database) as raw:
            raw.execute("DROP TABLE tokens, audit")
            raw.execute("DROP SEQUENCE token_changes")
            raw.execute("UPDATE meta SET value = '1' WHERE key = 'layout'")
        shared = open_access(database)
        assert shared.tokens() == ()
        create_token(shared, "a", ALICE)
        shared.close()
        older.write(lambda transaction: transaction.set_note("n", "1")).result()
        assert older.note("n") == "1"
    finally:
        older.close()
    open_store(Path("unused"), database).close()
