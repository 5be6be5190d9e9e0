"""Changesets that the server keeps are shared, listed, reviewed and withdrawn by commands."""

import json
import os
import pty
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from explorer.client import Catalog
from explorer.metadata import Proposal, Urn
from explorer.server.authentication import Gate, Keyring, Role, create_token
from explorer.stewardship import StagedChangeset, StagedEdit
from tests.cli.conftest import COMMAND, Ran, Run, environment
from tests.cli.test_review import _read_until as read_until
from tests.conftest import schema_metadata, serving_catalog

TABLE = Urn.dataset("hive", "proposals.orders")
COLUMNS = ("a", "b", "c")


@dataclass(frozen=True)
class Person:
    """Somebody with a token and a machine, who runs commands."""

    name: str
    token: str
    home: Path
    address: str
    run: Run

    @property
    def variables(self) -> dict[str, str]:
        return {"CATALOG_TOKEN": self.token, "CATALOG_STATE_DIR": str(self.home)}

    def __call__(self, *words: str, url: str | None = None) -> Ran:
        return self.run("docs", *words, url=url or self.address, stdin=b"", **self.variables)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    folder = tmp_path_factory.mktemp("shared")
    (folder / "data").mkdir()
    roles: dict[str, Role] = {"ann": "editor", "ben": "editor", "eve": "reader"}
    tokens = {
        name: create_token(folder / "t.json", name, f"urn:li:corpuser:{name}", role=role)[0]
        for name, role in roles.items()
    }
    with serving_catalog(folder / "data", Gate(Keyring(folder / "t.json"))) as address:
        yield address, tokens


@pytest.fixture
def people(
    place: tuple[str, dict[str, str]], catalog: Run, tmp_path: Path
) -> tuple[Person, Person, Person]:
    address, tokens = place
    with Catalog(address, token=tokens["ann"]) as client:
        client.ingest(Proposal(TABLE, "schemaMetadata", schema_metadata(dict.fromkeys(COLUMNS))))
        blank = [{"fieldPath": column, "description": ""} for column in COLUMNS]
        value = {"editableSchemaFieldInfo": blank}
        client.ingest(Proposal(TABLE, "editableSchemaMetadata", value))
    ann, ben, eve = (
        Person(name, tokens[name], tmp_path / name, address, catalog)
        for name in ("ann", "ben", "eve")
    )
    return ann, ben, eve


def staged(path: Path) -> StagedChangeset:
    edits = [
        StagedEdit(str(TABLE), "orders", column, text=f"About {column}.") for column in COLUMNS
    ]
    return StagedChangeset.create(
        path, edits, title="From upstream", server="", proposed_by="urn:li:corpuser:ann"
    )


def test_a_changeset_goes_from_a_file_to_the_queue_to_a_colleague_and_away(
    people: tuple[Person, Person, Person], tmp_path: Path
) -> None:
    ann, ben, _ = people
    mine = staged(tmp_path / "one.changes.jsonl")
    ran = ann("share", str(mine.path))
    assert (ran.code, ran.out) == (0, "")
    assert f"shared 3 edits; to review them: catalog docs review {mine.id}" in ran.err
    told = json.loads(ann("share", str(mine.path), "--json").out)
    urn = f"urn:li:changeset:{mine.id}"
    assert told == {"urn": urn, "id": mine.id, "title": "From upstream", "edits": 3}

    listed = ben("proposals")
    for words in (mine.id, "From upstream", "ann", "0 of 3"):
        assert words in listed.out
    ran = ben("review", mine.id, "--accept-all")
    assert (ran.code, "3 accepted" in ran.err) == (0, True)
    (found,) = [one for one in json.loads(ann("proposals", "--json").out) if one["id"] == mine.id]
    assert (found["accepted"], found["open"], found["edits"]) == (3, 0, 3)
    assert found["proposed_by"] == "urn:li:corpuser:ann"
    # The file that was shared is brought up to date too.
    ran = ann("review", str(mine.path), "--apply", "--json")
    told = json.loads(ran.out)
    assert (ran.code, told["applied"], told["unsent"]) == (0, 3, 0)
    assert {edit["decided_by"] for edit in told["edits"]} == {"urn:li:corpuser:ben"}
    ran = ben("review", urn, "--apply", "--json")
    assert (ran.code, json.loads(ran.out)["counts"]) == (0, {"applied": 3})
    assert json.loads(ran.out)["applied"] == 0

    assert urn in ben("proposals", "--urns").out
    assert "withdrew" in ben("withdraw", urn).err
    assert urn not in ann("proposals", "--urns").out
    gone = ann("review", mine.id)
    assert (gone.code, "withdrawn" in gone.err) == (1, True)


def test_who_may_only_read_is_told_before_anything_is_decided(
    people: tuple[Person, Person, Person], tmp_path: Path
) -> None:
    ann, _, eve = people
    mine = staged(tmp_path / "two.changes.jsonl")
    assert ann("share", str(mine.path)).code == 0
    assert "3 open" in eve("review", mine.id).err
    for words in (("--accept-all",), ("--refuse-all",), ("--apply",)):
        ran = eve("review", mine.id, *words)
        assert ran.code != 0
        assert "role editor" in ran.err
    other = staged(tmp_path / "other.changes.jsonl")
    for command in (("share", str(other.path)), ("withdraw", mine.id)):
        ran = eve(*command)
        assert ran.code != 0
        assert "role reader" in ran.err
    (found,) = [one for one in json.loads(ann("proposals", "--json").out) if one["id"] == mine.id]
    assert found["open"] == 3
    assert "3 open" in eve("review", mine.id).err


def test_what_is_decided_without_a_server_is_kept_and_sent_later(
    people: tuple[Person, Person, Person], tmp_path: Path
) -> None:
    ann, ben, _ = people
    mine = staged(tmp_path / "three.changes.jsonl")
    ann("share", str(mine.path))
    assert ben("review", mine.id).code == 0
    (copy,) = (ben.home / "changesets" / "shared").glob("*/*.jsonl")
    changeset = StagedChangeset.open(copy)
    changeset.decide(1, "refused", "urn:li:corpuser:ben")
    told = json.loads(ben("review", str(copy), "--json").out)
    assert (told["unsent"], told["counts"]) == (0, {"open": 2, "refused": 1})
    assert "1 refused" in ann("review", mine.id).err


def test_each_key_is_sent_and_a_colleagues_decision_is_passed_over(
    people: tuple[Person, Person, Person], tmp_path: Path
) -> None:
    ann, ben, _ = people
    mine = staged(tmp_path / "four.changes.jsonl")
    ann("share", str(mine.path))
    near, far = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "docs", "review", mine.id, "--url", ben.address],
        stdin=far,
        stdout=far,
        stderr=far,
        env=environment(**ben.variables, TERM="xterm"),
    )
    os.close(far)
    read_until(near, "1 of 3")
    colleague = StagedChangeset.open(mine.path)
    colleague.decide(2, "refused", "urn:li:corpuser:ann")
    assert ann("review", str(mine.path)).code == 0
    os.write(near, b"a")
    # The second was decided meanwhile.
    read_until(near, "3 of 3")
    assert ann("review", mine.id, "--json").json["counts"] == {
        "open": 1,
        "accepted": 1,
        "refused": 1,
    }
    os.write(near, b"x")
    read_until(near, "2 refused")
    assert process.wait(60) == 0
    os.close(near)


def test_a_name_of_neither_a_file_nor_a_changeset_is_refused(
    people: tuple[Person, Person, Person], tmp_path: Path
) -> None:
    ran = people[0]("review", str(tmp_path / "none.jsonl"))
    assert (ran.code, "does not exist" in ran.err) == (2, True)
    ran = people[0]("review", "0123456789abcdef")
    assert (ran.code, "no changeset" in ran.err) == (1, True)
