"""Trouble is one sentence, and nothing typed is lost."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from explorer.errors import InvalidInput, StorageFull, Unreachable
from explorer.metadata import Urn
from explorer.tui.session import sentence_of
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio

URN = Urn.dataset("hive", "t")
HOSTILE = "\x1b]52;c;aGk=\x07[/x] [@click=app.quit]here[/] \x9b31m\u202e <b>bold</b> [bold red"


class Wire:
    """A server that fails when told to."""

    def __init__(self, text: str = "plain") -> None:
        self.text = text
        self.failing: Exception | None = None
        self.saved: list[Any] = []

    async def send(self, request: Any) -> Any:
        if self.failing:
            raise self.failing
        return 200, orjson.dumps(self.answer(request))

    async def close(self) -> None:
        """Nothing is held."""

    def answer(self, request: Any) -> Any:
        stamp = {"time": 1, "actor": "urn:li:corpuser:a"}
        text = self.text

        def aspect(name: Any, value: Any) -> Any:
            return {"name": name, "version": 0, "value": value, "created": stamp}

        fields = [
            {
                "fieldPath": text,
                "nativeDataType": text,
                "description": text,
                "type": {"type": {"x.StringType": {}}},
            }
        ]
        aspects = {
            "datasetProperties": aspect(
                "datasetProperties",
                {"name": text, "description": text, "customProperties": {text: text}},
            ),
            "schemaMetadata": aspect("schemaMetadata", {"schemaName": text, "fields": fields}),
            "ownership": aspect("ownership", {"owners": [{"owner": str(URN), "type": text}]}),
            "deprecation": aspect("deprecation", {"deprecated": True, "note": text}),
            "subTypes": aspect("subTypes", {"typeNames": [text]}),
            "institutionalMemory": aspect(
                "institutionalMemory", {"elements": [{"url": text, "description": text}]}
            ),
            "browsePaths": aspect("browsePaths", {"paths": [text]}),
        }
        entity = {"urn": str(URN), "entityName": "dataset", "aspects": aspects}
        path = request.path
        if path == "/config":
            ours = {"version": text, "sample": False, "entities": 1}
            return {"noCode": "true", "catalogExplorer": ours}
        if path.startswith("/entitiesV2?"):
            return {"results": {str(URN): entity}}
        if path.startswith("/entitiesV2/"):
            return entity
        if "search" in path:
            metadata = {
                "matches": [{"matchedFields": [{"name": text, "value": text}]}],
                "searchResultMetadatas": [
                    {"name": "_entityType", "aggregations": {"dataset": 1}},
                    {"name": "tags", "displayName": text, "aggregations": {text: 1}},
                ],
            }
            return {"value": {"numEntities": 1, "entities": [str(URN)], "metadata": metadata}}
        if "autocomplete" in path:
            return {"value": {"suggestions": [text + "!"]}}
        if "browse" in path:
            groups = [{"name": text, "count": 1}]
            here = [{"name": text, "urn": str(URN)}]
            return {"value": {"entities": here, "groups": groups, "metadata": {"path": "/"}}}
        if "relationships" in path:
            return {"total": 1, "relationships": [{"type": text, "entity": str(URN)}]}
        if "description" in str((request.body or {}).get("variables")):
            self.saved.append(request.body)
        return {"data": {"updateDescription": True, "updateDataset": {"urn": str(URN)}}}


@pytest.mark.parametrize("size", [(120, 36), (40, 10), (300, 80)])
async def test_hostile_text_is_shown_and_never_obeyed_on_any_screen(
    at: OpenTerminal, size: Any
) -> None:
    wire = Wire(HOSTILE)
    async with at(None, size=size, transport=wire, query="e") as reader:
        for keys in (
            ["enter"],
            ["1"],
            ["4"],
            ["2", "e"],
            ["escape", "f6", "right", "down", "right"],
            ["f1"],
            ["escape", "colon"],
        ):
            await reader.press(*keys)
            shown = reader.app.export_screenshot(simplify=True)
            assert not set(shown) & set("\x1b\x07\x9b\u202e")
        assert reader.app.is_running


async def test_a_server_that_does_not_answer_is_told_in_one_sentence(at: OpenTerminal) -> None:
    wire = Wire()
    wire.failing = Unreachable("no catalog answers at http://nowhere; is it running?")
    async with at(None, transport=wire) as reader:
        await reader.sees("is it running?", "no answer from the catalog")
        wire.failing = None
        await reader.press("slash")
        await reader.type("a")
        await reader.sees("1 result", "●")


async def test_a_save_that_fails_keeps_the_text_and_the_editor(at: OpenTerminal) -> None:
    wire = Wire()
    async with at(None, transport=wire, urn=URN) as reader:
        await reader.sees("1 of 1 documented")
        await reader.press("e")
        await reader.type(" more")
        wire.failing = Unreachable("the server hung up; try again")
        await reader.press("ctrl+s")
        await reader.sees("plain more", "hung up")
        wire.failing = None
        await reader.press("ctrl+s")
        await reader.sees("documented")
    assert wire.saved[-1]["variables"]["input"]["description"] == "plain more"


async def test_a_server_whose_disk_is_full_is_not_said_to_be_silent(at: OpenTerminal) -> None:
    wire = Wire()
    async with at(None, transport=wire, urn=URN) as reader:
        await reader.sees("1 of 1 documented", "●")
        await reader.press("e")
        await reader.type(" more")
        wire.failing = StorageFull("the disk of the catalog is full; make room there")
        await reader.press("ctrl+s")
        await reader.sees("plain more", "make room there")
        assert reader.app._session.standing.contact == "ready"


async def test_what_nobody_foresaw_leaves_a_trace_in_a_file_and_a_sentence(
    at: OpenTerminal,
) -> None:
    wire = Wire()
    async with at(None, transport=wire) as reader:
        await reader.sees("1 result")
        wire.failing = ZeroDivisionError("surprise")
        await reader.press("slash")
        await reader.type("a")
        shown = await reader.sees("Something went wrong while searching")
        # A long path is broken over lines.
        assert "catalog-tui.log" in "".join(line.strip() for line in shown.splitlines())


async def test_the_last_question_wins_over_a_slow_answer_to_an_older_one(at: OpenTerminal) -> None:
    import asyncio

    class Slow(Wire):
        async def send(self, request: Any) -> Any:
            if "action=search" in request.path and request.body["input"] == "a":
                await asyncio.sleep(0.5)
            self.text = (
                f"answer to {request.body['input']}" if "search" in request.path else self.text
            )
            return await super().send(request)

    async with at(None, transport=Slow()) as reader:
        await reader.sees("1 result")
        await reader.pilot.press("slash", "a")
        await asyncio.sleep(0.1)
        await reader.pilot.press("b")
        await reader.sees("answer to ab")
        await asyncio.sleep(0.6)
        assert "answer to a " not in reader.screen()
        assert "answer to ab" in reader.screen()


async def test_a_draft_that_cannot_be_kept_stops_neither_typing_nor_saving(
    at: OpenTerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "a-file"
    blocked.write_text("")
    monkeypatch.setenv("CATALOG_STATE_DIR", str(blocked))
    wire = Wire()
    async with at(None, transport=wire, urn=URN) as reader:
        await reader.sees("1 of 1 documented")
        await reader.press("e")
        await reader.type(" more")
        await reader.sees("The draft cannot be kept")
        await reader.press("escape")
        await reader.sees("plain more", "save before you leave")
        await reader.press("ctrl+s")
        await reader.sees("documented")
    assert wire.saved[-1]["variables"]["input"]["description"] == "plain more"


async def test_a_fault_that_leaves_no_trace_is_still_told(
    at: OpenTerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "a-file"
    blocked.write_text("")
    monkeypatch.setenv("CATALOG_STATE_DIR", str(blocked))
    wire = Wire()
    wire.failing = ZeroDivisionError("surprise")
    async with at(None, transport=wire) as reader:
        await reader.sees("Something went wrong", "traceback could")


async def test_ctrl_q_leaves_the_editor_with_the_draft_kept(
    at: OpenTerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    async with at(None, transport=Wire(), urn=URN) as reader:
        await reader.sees("1 of 1 documented")
        await reader.press("e")
        await reader.pilot.press(*"xyz", "ctrl+q")
        await reader.pilot.pause()
        assert not reader.app.is_running or reader.app._exit
    assert [file for file in tmp_path.rglob("*.json") if "plainxyz" in file.read_text()]  # noqa: ASYNC240


async def test_where_nothing_is_written_it_is_said_before_anything_is_typed(
    at: OpenTerminal,
) -> None:
    async with at(None, transport=Wire(), urn=URN, read_only=True) as reader:
        await reader.sees("1 of 1 documented", "read-only")
        await reader.press("e")
        shown = await reader.sees("open read-only")
        assert "save" not in shown


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("the disk is full", "The disk is full."),
        ("status: nothing is known", "Status: nothing is known."),
        ("urn:li:tag:PII already exists", "urn:li:tag:PII already exists."),
        ("o.csv contains no changes", "o.csv contains no changes."),
        ("/tmp/o.csv cannot be read", "/tmp/o.csv cannot be read."),
    ],
)
def test_a_name_that_begins_a_message_stays_as_it_is(said: str, sentence: str) -> None:
    assert sentence_of(InvalidInput(said)) == sentence
