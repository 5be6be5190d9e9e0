"""`catalog migrate`: a catalog of this machine goes to a database, and not into another one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from tests.postgres import Cluster


def test_a_catalog_is_copied_to_a_database_and_told_table_by_table(
    catalog: Callable[..., Any], postgres: Cluster, tmp_path: Path
) -> None:
    from explorer.server.data_directory import open_store
    from tests.server.store.examples import put, tag, write

    (tmp_path / "here").mkdir()
    store = open_store(tmp_path / "here")
    put(store, write(tag("a"), 1), write(tag("a"), 2))
    store.close()
    database = postgres.new_schema()
    ran = catalog("migrate", "--from", str(tmp_path / "here"), "--to", database, url=None)
    assert ran.code == 0, ran.err
    assert "the same in both: 1 urns, 0 runs, 1 aspects, 1 versions" in ran.err
    copy = open_store(tmp_path, database)
    assert copy.urns() == [tag("a")]
    copy.close()
    again = catalog("migrate", "--from", str(tmp_path / "here"), "--to", database, url=None)
    assert again.code != 0
    assert "already holds a catalog" in again.err
    assert "PGPASSWORD" not in again.err
    open_to_all = database.replace("//root@", "//root:secret@")
    warned = catalog("migrate", "--from", str(tmp_path / "none"), "--to", open_to_all, url=None)
    assert "--to: every user of this machine can read the password" in warned.err
    assert "secret" not in warned.err
    missing = catalog("migrate", "--from", str(tmp_path / "none"), "--to", database, url=None)
    assert "there is no catalog in" in missing.err
    assert "name its directory with --from" in missing.err


def test_a_directory_without_a_catalog_is_told_with_the_option_that_names_it(
    catalog: Callable[..., Any], tmp_path: Path
) -> None:
    places = ("--from", str(tmp_path / "none"), "--to", str(tmp_path / "there"))
    ran = catalog("migrate", *places, url=None)
    assert ran.code == 3
    assert f"no catalog in {tmp_path / 'none'}; name its directory with --from" in ran.err


def test_tokens_go_with_the_catalog_to_a_database_and_back(
    catalog: Callable[..., Any], postgres: Cluster, tmp_path: Path
) -> None:
    from explorer.server.authentication import create_token, revoke_token
    from explorer.server.data_directory import open_access, open_store
    from tests.server.store.examples import put, tag, write

    here = tmp_path / "here"
    here.mkdir()
    store = open_store(here)
    put(store, write(tag("a"), 1))
    store.close()
    for name in ("reads", "left"):
        create_token(here / "tokens.json", name, "urn:li:corpuser:ann", None, "reader")
    revoke_token(here / "tokens.json", "left")
    database, there = postgres.new_schema(), tmp_path / "there"
    for source, target in ((str(here), database), (database, str(there))):
        ran = catalog("migrate", "--from", source, "--to", target, url=None)
        assert ran.code == 0, ran.err
        assert "audit" not in ran.err
    shared = open_access(database)
    try:
        tokens = shared.tokens()
    finally:
        shared.close()
    assert [(one.name, one.revoked_millis is not None) for one in tokens] == [
        ("reads", False),
        ("left", True),
    ]
    listed = catalog("token", "list", "--data-dir", str(there), url=None)
    assert "reads" in listed.out
    assert "revoked" in listed.out


def test_an_audit_log_that_stays_behind_is_told_with_what_lists_it(
    catalog: Callable[..., Any], postgres: Cluster, tmp_path: Path
) -> None:
    from explorer.server.audit_log import AuditFile, AuditRecord
    from explorer.server.data_directory import open_access, open_store
    from tests.server.store.examples import put, tag, write

    here = tmp_path / "here"
    here.mkdir()
    store = open_store(here)
    put(store, write(tag("a"), 1))
    store.close()
    line = (1, msgspec.json.encode(AuditRecord(1, "refused", 403, "GET /x", "urn:li:corpuser:ann")))
    AuditFile(here).append_audit("", [line])
    database = postgres.new_schema()
    ran = catalog("migrate", "--from", str(here), "--to", database, url=None)
    assert "the audit log is not copied" in ran.err
    assert f"listed by: catalog audit --data-dir {here}\n" in ran.err
    assert "refused 403" in catalog("audit", "--data-dir", str(here), url=None).out
    shared = open_access(database)
    try:
        shared.append_audit(str(uuid4()), [line])
    finally:
        shared.close()
    back = catalog("migrate", "--from", database, "--to", str(tmp_path / "back"), url=None)
    assert "catalog audit --store, with the address given to --from" in back.err
