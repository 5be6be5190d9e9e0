"""Tags, terms, owners and domains: shown, put on and taken off, of one entity or of many."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
EVENTS = "urn:li:dataset:(urn:li:dataPlatform:kafka,shop.events,PROD)"
NOWHERE = "urn:li:dataset:(urn:li:dataPlatform:hive,labelled.nowhere,PROD)"
PII, OLD, ODD = "urn:li:tag:PII", "urn:li:tag:Old", "urn:li:tag:Odd \x1b[31m=tag"


def table(name: Any) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,labelled.{name},PROD)"


@pytest.fixture(scope="module")
def labels(shop: Run) -> Any:
    """The labels that are put on; gives what loads one more entity with its aspects."""

    def load(urn: Any, **aspects: Any) -> Any:
        changes = [
            {"entityUrn": urn, "aspectName": name, "aspect": {"json": value}}
            for name, value in aspects.items()
        ]
        assert shop("load", "-", stdin=json.dumps(changes).encode()).code == 0
        return urn

    for urn in (PII, OLD, ODD):
        load(urn, tagProperties={"name": urn})
    load("urn:li:glossaryTerm:Revenue", glossaryTermInfo={"definition": "", "termSource": "x"})
    load("urn:li:domain:finance", domainProperties={"name": "Finance"})
    for user in ("jdoe", "ann"):
        load(f"urn:li:corpuser:{user}", corpUserInfo={"active": True})
    load("urn:li:corpGroup:finance", corpGroupInfo={"admins": [], "members": [], "groups": []})
    return load


@pytest.fixture
def fresh(shop: Run, labels: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Makes a new table of this test's own."""
    made: list[str] = []

    def make(**aspects: Any) -> Any:
        made.append(table(f"{request.node.name.split('[')[0]}{len(made)}"))
        return labels(made[-1], status={"removed": False}, **aspects)

    yield make
    if made:
        shop("delete", *made, "--hard", "--yes")


def test_tags_are_put_on_and_taken_off_and_others_stay(shop: Run, fresh: Any) -> None:
    urn = fresh(globalTags={"tags": [{"tag": "urn:li:tag:Finance"}, {"tag": OLD}]})
    ran = shop("tag", urn, "--add", "PII", "--remove", "Old", "--remove", "Missing", "--json")
    assert ran.code == 0, ran
    assert "Finance, Old → Finance, PII" in ran.err
    first, last = ran.json["edits"]
    assert (first["what"], first["column"], first["urn"]) == ("tags", None, urn)
    assert first["before"] == ["urn:li:tag:Finance", OLD]
    assert last["after"] == ["urn:li:tag:Finance", PII]
    assert shop("tag", urn, "--urns").out == f"urn:li:tag:Finance\n{PII}\n"


def test_a_tag_that_is_there_already_changes_nothing(shop: Run, fresh: Any) -> None:
    urn = fresh(globalTags={"tags": [{"tag": PII}]})
    ran = shop("tag", urn, "--add", "PII", "--json")
    assert (ran.code, ran.json["edits"][0]["changed"]) == (0, False)
    assert "PII (unchanged)" in ran.err


@pytest.mark.parametrize(
    ("command", "name", "urn"),
    [("tag", "PII", PII), ("term", "Revenue", "urn:li:glossaryTerm:Revenue")],
)
def test_a_column_is_labelled_by_its_plain_path(
    shop: Run, labels: Any, command: str, name: str, urn: Any
) -> None:
    key = f"{command}s"
    edit = shop(command, EVENTS, "--column", "payload.kind", "--add", name, "--json").json
    assert edit["edits"][0]["column"].endswith("payload.[type=string].kind")
    shown = shop(command, EVENTS, "--column", "payload.kind", "--json").json
    assert shown[0][key] == [urn]
    assert shop(command, EVENTS, "--json").json[0][key] == []
    shop(command, EVENTS, "--column", "payload.kind", "--remove", name)
    assert shop(command, EVENTS, "--column", "payload.kind", "--json").json[0][key] == []


def test_owners_have_kinds(shop: Run, fresh: Any) -> None:
    urn = fresh()
    ran = shop("own", urn, "--add", "jdoe", "--add", "ann:data_steward", "--json")
    assert ran.code == 0, ran
    assert "jdoe (technical owner), ann (data steward)" in ran.err
    group = "urn:li:corpGroup:finance"
    assert shop("own", urn, "--add", f"{group}:BUSINESS_OWNER", "--add", "ann").code == 0
    assert shop("own", urn, "--json").json[0]["owners"] == [
        "urn:li:corpuser:jdoe TECHNICAL_OWNER",
        "urn:li:corpuser:ann DATA_STEWARD",
        f"{group} BUSINESS_OWNER",
        "urn:li:corpuser:ann TECHNICAL_OWNER",
    ]
    shop("own", urn, "--remove", "ann:DATA_STEWARD")
    assert "urn:li:corpuser:ann TECHNICAL_OWNER" in shop("own", urn, "--json").json[0]["owners"]
    shop("own", urn, "--remove", "ann", "--remove", "jdoe")
    assert shop("own", urn, "--json").json[0]["owners"] == [f"{group} BUSINESS_OWNER"]
    assert shop("own", urn, "--urns").out == f"{group}\n"


def test_a_domain_is_put_in_and_taken_out(shop: Run, fresh: Any) -> None:
    one, two = fresh(), fresh()
    ran = shop("domain", one, two, "finance", "--json")
    assert [edit["after"] for edit in ran.json["edits"]] == [["urn:li:domain:finance"]] * 2
    assert "2 of 2 changed" in ran.err
    assert shop("domain", one, two, "--json").json[1]["domains"] == ["urn:li:domain:finance"]
    assert "finance → none" in shop("domain", one, "--none").err
    assert shop("domain", one, "--urns").out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["tag", "--add", "PII", "--remove", "Old"],
        ["term", "--add", "Revenue"],
        ["own", "--add", "ann:DATA_STEWARD", "--remove", "jdoe"],
        ["domain", "finance"],
        ["domain", "--none"],
    ],
)
def test_a_dry_run_says_what_the_real_run_does_and_writes_nothing(
    shop: Run, fresh: Any, arguments: Any
) -> None:
    command, *options = arguments
    urn = fresh(
        globalTags={"tags": [{"tag": OLD}]},
        ownership={"owners": [{"owner": "urn:li:corpuser:jdoe", "type": "TECHNICAL_OWNER"}]},
    )
    shown = shop(command, urn, "--json").json
    dry = shop(command, urn, *options, "--dry-run", "--json")
    assert (dry.code, dry.json["dry_run"]) == (0, True), dry
    assert "nothing was written" in dry.err
    assert shop(command, urn, "--json").json == shown
    (planned,) = dry.json["edits"]
    real = shop(command, urn, *options, "--json").json["edits"]
    assert planned["before"] == real[0]["before"]
    assert planned["after"] == real[-1]["after"]


def test_one_that_fails_loses_no_other(shop: Run, fresh: Any) -> None:
    one, two = fresh(), fresh()
    given = f"{one}\n\nno urn\r\n{NOWHERE}\n{one}\n".encode()
    ran = shop("tag", "-", two, "--add", "PII", "--json", stdin=given)
    assert ran.code == 1, ran
    assert [edit["urn"] for edit in ran.json["edits"]] == [one, two]
    assert [one["urn"] for one in ran.json["failed"]] == ["no urn", NOWHERE]
    assert NOWHERE in ran.err
    assert "2 of 4 changed, 2 failed" in ran.err
    assert shop("tag", two, "--urns").out == f"{PII}\n"


def test_a_server_that_cannot_be_reached_ends_it_at_once(catalog: Run) -> None:
    ran = catalog("tag", ORDERS, EVENTS, "--add", "PII", "--json", url="http://127.0.0.1:1")
    assert (ran.code, ran.json["edits"]) == (3, [])
    assert "2 of 2 not processed" in ran.err


def test_no_urns_on_standard_input_is_said(shop: Run) -> None:
    ran = shop("tag", "-", "--add", "PII", stdin=b"\n")
    assert (ran.code, "no URN on standard input" in ran.err) == (1, True)


def test_hostile_names_reach_people_cleaned_and_programs_exactly(shop: Run, fresh: Any) -> None:
    urn = fresh()
    ran = shop("tag", urn, "--add", ODD)
    assert (ran.code, "\x1b" in ran.out + ran.err) == (0, False), ran
    assert "\x1b" not in shop("tag", urn).out
    assert shop("tag", urn, "--json").json[0]["tags"] == [ODD]
    (row,) = csv.DictReader(io.StringIO(shop("tag", urn, "--csv").out))
    assert json.loads(row["tags"]) == [ODD]
    assert shop("tag", urn, "--remove", ODD).code == 0
    assert shop("tag", urn, "--json").json[0]["tags"] == []


def test_the_table_is_as_wide_as_the_terminal(shop: Run, fresh: Any) -> None:
    urn = fresh(globalTags={"tags": [{"tag": f"urn:li:tag:Number{n}"} for n in range(20)]})
    lines = shop("tag", urn, ORDERS).out.splitlines()
    assert lines[0].split() == ["name", "tags"]
    assert max(map(len, lines)) <= 80
    assert "Number19" in "".join(lines)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tag"], "Missing argument"),
        (["tag", ORDERS, "--add", "PII", "--remove", "PII"], "with both --add and --remove"),
        (["tag", ORDERS, "--dry-run"], "needs a change"),
        (["tag", ORDERS, "--add", "PII", "--csv"], "--json"),
        (["tag", ORDERS, "--json", "--urns"], "cannot be combined"),
        (["own", ORDERS, "--column", "id", "--add", "x"], "No such option"),
        (["domain", "urn:li:domain:finance"], "no URN"),
        (["domain", ORDERS, "finance", "--none"], "give only one of them"),
    ],
)
def test_wrong_use_is_exit_2(shop: Run, arguments: Any, words: str) -> None:
    ran = shop(*arguments)
    assert (ran.code, words in ran.err) == (2, True), ran


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tag", ORDERS, "--add", "urn:li:domain:finance"], "not a tag"),
        (["tag", ORDERS, "--add", " "], "is not the id of a tag"),
        (["tag", ORDERS, "--add", "Nowhere"], "Nowhere"),
        (["tag", ORDERS, "--column", "zip", "--add", "PII"], "shipping.address.zip"),
        (["term", NOWHERE], NOWHERE),
        (["own", ORDERS, "--add", "urn:li:tag:x"], "not a corpuser"),
    ],
)
def test_what_cannot_be_done_is_exit_1_and_nothing_on_standard_output(
    shop: Run, labels: Any, arguments: Any, words: Any
) -> None:
    ran = shop(*arguments)
    assert (ran.code, ran.out, words in ran.err) == (1, "", True), ran


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_an_ownership_type_that_does_not_exist_is_told_with_those_that_do(
    shop: Run, more: tuple[str, ...]
) -> None:
    ran = shop("own", ORDERS, "--add", "jdoe:STEWARD", *more)
    assert ran.code == 1
    assert "no ownership type STEWARD" in ran.err
    assert "DATA_STEWARD" in ran.err


@pytest.mark.parametrize("way", ["written", "dry run", "proposed"])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["term", ORDERS, "--add", "Revenu"], "term Revenu does not exist; did you mean Revenue?"),
        (["domain", ORDERS, "finnance"], "did you mean finance (Finance)?"),
        # A word of three letters is not corrected by the search.
        (["tag", ORDERS, "--add", "PPI"], "the tag PPI does not exist; did you mean PII"),
        (["own", ORDERS, "--add", "jdoee"], "the person jdoee does not exist; did you mean jdoe?"),
        (["tag", ORDERS, "--add", "Zzyzx"], "“catalog new tag Zzyzx” creates it"),
    ],
)
def test_a_label_that_does_not_exist_is_told_with_similar_ones(
    shop: Run, labels: Any, arguments: Any, words: Any, way: str, tmp_path: Path
) -> None:
    file = tmp_path / "changes.json"
    more = {"written": [], "dry run": ["--dry-run"], "proposed": ["--propose", str(file)]}[way]
    ran = shop(*arguments, *more)
    assert (ran.code, ran.out) == (1, "")
    assert words in ran.err
    assert not file.exists()


def test_a_dry_run_takes_what_is_there_and_what_is_taken_off_without_a_look(
    shop: Run, fresh: Any
) -> None:
    urn = fresh(globalTags={"tags": [{"tag": "urn:li:tag:Unlisted"}]})
    ran = shop("tag", urn, "--add", "Unlisted", "--remove", "Missing", "--dry-run")
    assert ran.code == 0, ran
    assert "Unlisted (unchanged)" in ran.err


def test_an_entity_that_does_not_exist_is_told_as_such(shop: Run, labels: Any) -> None:
    ran = shop("tag", NOWHERE, "--add", "PII")
    assert (ran.code, ran.out) == (1, "")
    assert f"{NOWHERE} does not exist" in ran.err


def test_labels_are_given_by_their_names(shop: Run, fresh: Any, labels: Any) -> None:
    term = labels(
        "urn:li:glossaryTerm:Finance.Net",
        glossaryTermInfo={"name": "Net revenue", "definition": "", "termSource": "x"},
    )
    person = labels("urn:li:corpuser:nweber", corpUserInfo={"active": True, "fullName": "Nina W"})
    urn = fresh()
    for dry in (["--dry-run"], []):
        edits = [
            shop(*words, *dry, "--json").json["edits"][0]
            for words in (
                ("term", urn, "--add", "net revenue"),
                ("own", urn, "--add", "Nina W:DATA_STEWARD"),
                ("domain", urn, "Finance"),
            )
        ]
        after = [edit["after"] for edit in edits]
        assert after == [[term], [f"{person} DATA_STEWARD"], ["urn:li:domain:finance"]]
    assert shop("own", urn, "--remove", "Nina W").code == 0
    assert shop("term", urn, "--remove", "Net revenue").code == 0
    assert shop("term", urn, "--urns").out == ""
    assert "does not exist" in shop("term", urn, "--add", "Net revenues").err
