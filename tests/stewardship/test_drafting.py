"""A command drafts texts: it is told what is known, and whatever it does stops nothing else."""

import asyncio
import shlex
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from explorer import config
from explorer.client import AsyncCatalog
from explorer.errors import InvalidInput, Misconfigured
from explorer.metadata import Proposal, Urn
from explorer.metadata.fieldpath import column_urn
from explorer.stewardship import AsyncStewardship, DraftingCommand
from explorer.stewardship.drafting import chosen_command
from tests.stewardship.conftest import columns, upstream

Command = Callable[[str], str]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Makes a command of some lines of Python, which find the request as `asked`."""
    numbers = iter(range(100))

    def make(lines: str) -> str:
        path = tmp_path / f"command {next(numbers)}.py"
        path.write_text(f"import json, os, sys, time\nasked = json.load(sys.stdin)\n{lines}\n")
        return shlex.join((sys.executable, str(path)))

    return make


def suggested(text: str, request: Any = None, timeout_seconds: float = 60) -> str:
    command = DraftingCommand.parse(text, timeout_seconds)
    return asyncio.run(command.suggest({} if request is None else request))


def test_what_it_prints_is_the_text_without_white_space_around(command: Command) -> None:
    says = command("print(f\"\\n  About {asked['name']}.\\r\\n\\n* ü\\t1\\n\")")
    assert suggested(says, {"name": "größe"}) == "About größe.\n\n* ü\t1"


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("print('Half a'); print('no model', file=sys.stderr); sys.exit(3)", "code 3: no model"),
        ("os.kill(os.getpid(), 15)", "ended by signal 15"),
        ("print(' \\n')", "printed nothing"),
        ("print('x' * 1_000_000)", "more than 64 kB"),
        ("sys.stdout.buffer.write(b'abc\\xff')", "not UTF-8, at byte 4"),
        ("print('\\x1b[31mred')", r"control character, U\+001B"),
        ("print('too late' if time.sleep(60) is None else '')", "longer than 1 s"),
    ],
)
def test_what_is_no_text_is_refused_with_the_reason(command: Command, lines: str, why: str) -> None:
    begun = time.monotonic()
    with pytest.raises(Misconfigured, match=why):
        suggested(command(lines), timeout_seconds=1 if "longer" in why else 60)
    assert time.monotonic() - begun < 30


def test_a_command_that_reads_nothing_may_have_a_text(tmp_path: Path) -> None:
    large = {"text": "x" * 1_000_000}
    assert suggested("echo Ready.", large) == "Ready."
    with pytest.raises(Misconfigured, match="exit code 1"):
        suggested("false", large)


def test_a_command_that_is_not_there_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    for text, why in (("", "empty"), ("no-such-program x", "not exist"), ("'open", "not a valid")):
        with pytest.raises(InvalidInput, match=why):
            DraftingCommand.parse(text)
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    with pytest.raises(Misconfigured, match="cannot be run"):
        suggested(str(broken))


def _is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


LEAVES_A_CHILD = """
import subprocess
child = subprocess.Popen(["sleep", "300"])
open({path!r}, "w").write(str(child.pid))
{rest}
"""


@pytest.mark.parametrize("how", ["too slow", "too long", "cancelled", "its parent ended"])
def test_what_is_killed_is_killed_with_its_children(
    command: Command, tmp_path: Path, how: str
) -> None:
    file = tmp_path / "child"
    rest = {"too long": "print('x' * 1_000_000)", "its parent ended": "print('Done.')"}
    lines = LEAVES_A_CHILD.format(path=str(file), rest=rest.get(how, "time.sleep(300)"))

    def has_child() -> bool:
        return file.exists() and bool(file.read_text())

    async def run(seconds: float) -> None:
        slow = DraftingCommand.parse(command(lines), seconds)
        task = asyncio.create_task(slow.suggest({}))
        while not (has_child() or task.done()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        if how == "cancelled":
            task.cancel()
        with suppress(Misconfigured, asyncio.CancelledError):
            await task
            raise AssertionError("it had a text")

    # On a busy machine a command may be killed before it has a child: then it has more time.
    seconds = 1 if how in ("too slow", "its parent ended") else 60
    while not has_child():
        assert seconds <= 60
        asyncio.run(run(seconds))
        seconds *= 4
    child = int(file.read_text())
    deadline = time.monotonic() + 60
    while _is_running(child):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_it_is_told_what_is_known_of_a_column(catalog: Any, steward: Any, named: Any) -> None:
    urn = str(Urn.dataset("hive", "drafting.told"))
    lineage = upstream("orders")
    lineage["fineGrainedLineages"] = [
        {
            "upstreamType": "FIELD_SET",
            "downstreamType": "FIELD",
            "upstreams": [column_urn(named("orders"), "city"), column_urn(named("raw"), "body")],
            "downstreams": [column_urn(urn, "town")],
        }
    ]
    aspects = [
        ("schemaMetadata", columns(id="", town="", zip="A code.")),
        ("upstreamLineage", lineage),
        ("datasetProperties", {"name": "told", "description": "Of towns."}),
        (
            "datasetUsageStatistics",
            {"timestampMillis": int(time.time() * 1000)}
            | {"totalSqlQueries": 7, "fieldCounts": [{"fieldPath": "town", "count": 5}]},
        ),
    ]
    report = catalog.ingest_batch([Proposal(Urn.parse(urn), *one) for one in aspects])
    assert not report.refused, report
    (of_id, of_town) = steward.draft_requests([urn])
    assert of_town["about"] == "column"
    assert of_town["table"]["name"] == "told"
    assert of_town["table"]["description"] == "Of towns."
    assert of_town["column"]["path"] == "town"
    assert of_town["usage"] == {"days": 30, "queries": 7, "uses": 5}
    assert [one["name"] for one in of_town["neighbours"]] == ["id", "zip"]
    assert of_town["neighbours"][1]["description"] == "A code."
    told = [(one["table"], one["column"], one["description"]) for one in of_town["upstream"]]
    assert told == [("orders", "city", "Where it went."), ("raw", "body", "")]
    # Of the same name in another table: a guess upstream, and a text elsewhere.
    assert [(one["column"], one["found_by"]) for one in of_id["upstream"]] == [("id", "name")]
    assert {one["description"] for one in of_id["same_name"]} >= {"The key."}
    catalog.delete(urn)


def test_every_undocumented_text_is_asked_for_and_failures_stop_nothing(
    catalog: Any, steward: Any, named: Any, command: Command, tmp_path: Path
) -> None:
    urns = [named("orders"), named("mart"), named("side")]
    before = steward.documentation(urns)
    text = command(
        "place = (asked['column'] or asked['table'])['name']\n"
        "sys.exit('no idea') if place == 'mail' else print('About', place + '.')"
    )
    seen: list[Any] = []
    found = steward.draft(
        urns, command=text, path=tmp_path / "a.changes.jsonl", drafted=seen.append
    )
    assert [(one.name, one.column, one.text) for one in found.edits] == [
        ("orders", "total", "About total."),
        ("mart", None, "About mart."),
        ("mart", "id", "About id."),
        ("side", None, "About side."),
        ("side", "a", "About a."),
        ("side", "b", "About b."),
    ]
    assert [(one.table, one.column) for one in found.failures] == [("mart", "mail")]
    assert "no idea" in found.failures[0].why
    assert {one.place for one in seen} == {one.place for one in found.edits}
    assert {item.edit.sources[0].found_by for item in found.changeset.items} == {"command"}
    # Nothing is written until somebody accepts it.
    assert steward.documentation(urns) == before
    changeset = found.changeset
    changeset.decide_open("accepted", "urn:li:corpuser:ann")
    assert steward.apply_staged(changeset).applied == 6
    assert [one.column for one in steward.draft(urns, command=text).failures] == ["mail"]


def test_a_limit_says_how_many_are_left(steward: Any, named: Any, command: Command) -> None:
    say = command("print('Text.')")
    found = steward.draft([named("mart"), named("side")], command=say, limit=2, at_once=1)
    assert (len(found.edits), found.beyond_limit) == (2, 4)
    only = steward.draft([named("mart"), named("side")], command=say, parts=["tables"])
    assert [one.column for one in only.edits] == [None, None]
    for wrong in ({"limit": 0}, {"at_once": 0}):
        with pytest.raises(InvalidInput):
            steward.draft([named("mart")], command=say, **wrong)


def test_as_many_run_side_by_side_as_is_wanted(
    steward: Any, named: Any, command: Command, tmp_path: Path
) -> None:
    lines = f"""
mine = os.path.join({str(tmp_path)!r}, f"run-{{os.getpid()}}")
open(mine, "w").close()
deadline = time.monotonic() + 60
most = 0
while most < 2 and time.monotonic() < deadline:
    most = max(most, len([one for one in os.listdir({str(tmp_path)!r}) if one[:4] == "run-"]))
    time.sleep(0.01)
time.sleep(0.2)
most = max(most, len([one for one in os.listdir({str(tmp_path)!r}) if one[:4] == "run-"]))
os.remove(mine)
print(most)
"""
    found = steward.draft(
        [named("mart"), named("side")], command=command(lines), at_once=2, limit=4
    )
    assert {one.text for one in found.edits} == {"2"}


def test_no_command_is_run_unless_it_was_configured(
    catalog: Any, steward: Any, named: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Misconfigured, match="catalog profile draft-with"):
        steward.draft([named("mart")])
    monkeypatch.setenv("CATALOG_CONFIG_DIR", str(tmp_path))
    (tmp_path / "profiles.toml").write_text(
        'drafting_command = "echo All."\ndrafting_timeout_seconds = 7\n'
        f'[profiles.a]\nurl = "{catalog.address}"\ndrafting_command = "echo Own."\n'
        '[profiles.b]\nurl = "http://b"\ndrafting_command = ""\n'
        '[profiles.c]\nurl = "http://c"\n'
    )
    for profile, expected in (("a", "echo Own."), ("b", ""), ("c", "echo All."), (None, "")):
        if profile is not None:
            assert config.server(profile=profile).drafting.command == expected
    assert config.server(profile="c").drafting.timeout_seconds == 7
    assert config.server("http://elsewhere").drafting.command == "echo All."
    with pytest.raises(Misconfigured):
        chosen_command(config.server(profile="b").drafting)

    async def draft() -> str:
        async with AsyncCatalog(catalog.address) as client:
            found = await AsyncStewardship(client).draft([named("mart")], limit=1)
        return found.edits[0].text

    assert asyncio.run(draft()) == "Own."
    monkeypatch.setenv("CATALOG_DRAFTING_COMMAND", "echo Mine.")
    assert asyncio.run(draft()) == "Mine."
    monkeypatch.setenv("CATALOG_DRAFTING_COMMAND", "no-such-program")
    with pytest.raises(Misconfigured, match="CATALOG_DRAFTING_COMMAND"):
        asyncio.run(draft())
