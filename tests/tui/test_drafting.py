"""In the editor a command drafts a text, which is taken as any other suggestion is."""

from pathlib import Path

import pytest

from explorer.client import Catalog
from explorer.metadata import Urn
from tests.conftest import schema_metadata
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio


def table(desk: Path, name: str) -> Urn:
    """A table with two columns that nobody described and nobody else has."""
    urn = Urn.dataset("hive", f"drafting.{name}")
    with Catalog(data_dir=desk) as catalog:
        columns = {f"{name}_one": None, f"{name}_two": None}
        catalog.put(urn, "schemaMetadata", schema_metadata(columns, "int", "Number"))
    return urn


def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str) -> None:
    path = tmp_path / "drafts"
    path.write_text(
        "#!/usr/bin/env python3\nimport json, os, sys, time\n"
        f"asked = json.load(sys.stdin)\n{lines}\n"
    )
    path.chmod(0o755)
    monkeypatch.setenv("CATALOG_DRAFTING_COMMAND", str(path))


async def test_a_draft_is_shown_below_and_taken_by_its_key(
    desk: Path, at: OpenTerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn = table(desk, "taken")
    configured(tmp_path, monkeypatch, "print('About', asked['column']['name'] + '.')")
    async with at(desk, urn=urn) as reader:
        await reader.sees("2 Columns·")
        await reader.press("2", "e")
        await reader.sees("column 1 of 2")
        await reader.type("typed")
        await reader.press("f10")
        await reader.sees("f6 drafted by the command", "About taken_one.", "f6 uses it", "│ typed")
        with Catalog(data_dir=desk) as catalog:
            assert not catalog.entity(urn).schema.documented
        await reader.press("f6")
        await reader.sees("│ About taken_one.")
        await reader.press("ctrl+z")
        await reader.sees("│ typed")
        await reader.press("f6", "ctrl+s")
        await reader.sees("Saved taken_one.")
    with Catalog(data_dir=desk) as catalog:
        column = catalog.entity(urn).schema.column("taken_one")
    assert column is not None
    assert column.edited == "About taken_one."


async def test_a_command_that_is_configured_meanwhile_is_used(
    desk: Path, at: OpenTerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn = table(desk, "meanwhile")
    monkeypatch.delenv("CATALOG_DRAFTING_COMMAND", raising=False)
    monkeypatch.setenv("CATALOG_CONFIG_DIR", str(tmp_path))
    async with at(desk, urn=urn) as reader:
        await reader.sees("2 Columns·")
        await reader.press("2", "e")
        await reader.sees("column 1 of 2")
        await reader.press("f10")
        await reader.sees(
            "No drafting command is configured; set one with catalog profile draft-with"
        )
        (tmp_path / "profiles.toml").write_text('drafting_command = "echo Set meanwhile."\n')
        await reader.press("f10")
        await reader.sees("f6 drafted by the command", "Set meanwhile.")


async def test_a_draft_that_comes_late_is_offered_where_it_was_asked_for(
    desk: Path, at: OpenTerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn, gate = table(desk, "late"), tmp_path / "gate"
    lines = f"while not os.path.exists({str(gate)!r}): time.sleep(0.01)\nprint('It came late.')"
    configured(tmp_path, monkeypatch, lines)
    async with at(desk, urn=urn) as reader:
        await reader.sees("2 Columns·")
        await reader.press("2", "e")
        await reader.sees("column 1 of 2")
        await reader.pilot.press("f10")
        await reader.sees("drafting a text for late_one")
        await reader.pilot.press("f10")
        await reader.sees("already running for this text")
        await reader.pilot.press("f3")
        await reader.sees("column 2 of 2")
        gate.touch()
        shown = await reader.sees("A text was drafted for late_one; open it to use the text.")
        assert "It came late." not in shown
        await reader.press("f2")
        await reader.sees("f6 drafted by the command", "It came late.")


async def test_without_a_command_the_key_says_how_to_configure_one(
    desk: Path, at: OpenTerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn = table(desk, "without")
    async with at(desk, urn=urn) as reader:
        await reader.sees("2 Columns·")
        await reader.press("2", "e")
        await reader.sees("column 1 of 2")
        await reader.press("f10")
        await reader.sees("o drafting command is configured", "catalog profile draft-with")
    configured(tmp_path, monkeypatch, "sys.exit('the model is asleep')")
    async with at(desk, urn=urn) as reader:
        await reader.sees("2 Columns·")
        await reader.press("2", "e")
        await reader.sees("column 1 of 2")
        await reader.press("f10")
        await reader.sees("failed with exit code 1: the model is asleep")


async def test_leaving_the_editor_ends_the_command(
    desk: Path, at: OpenTerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    urn, started = table(desk, "left"), tmp_path / "started"
    lines = f"open({str(started)!r}, 'w').write(str(os.getpid()))\ntime.sleep(300)"
    configured(tmp_path, monkeypatch, lines)
    async with at(desk, urn=urn) as reader:
        await reader.sees("2 Columns·")
        await reader.press("2", "e")
        await reader.sees("column 1 of 2")
        await reader.pilot.press("f10")
        await reader.until(lambda: started.exists() and started.read_text())
        await reader.pilot.press("escape")
        await reader.sees("2 Columns")
        process = Path(f"/proc/{started.read_text()}")
        await reader.until(lambda: not process.exists())
