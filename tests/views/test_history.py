"""Versions, and who wrote them, are the same in the terminal, the notebook and the shell."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explorer import Catalog
from explorer.client import AsyncCatalog
from explorer.client.records import Version, Versions
from explorer.metadata.aspects import AuditStamp
from explorer.metadata.urn import Urn
from explorer.tui.content import Times
from explorer.tui.screens.history import (
    BlameList,
    ColumnList,
    StampText,
    VersionsList,
    read_more_versions,
    tracks_of,
)
from explorer.views.diff import value_diff
from explorer.views.history import (
    ActorNames,
    AspectHistory,
    OldDescription,
    actor_of,
    actors_of,
    blame_table,
    history_table,
    old_column_description,
    old_description,
    old_description_of_step,
    run_of,
)
from explorer.views.table import to_csv, to_frame, to_objects

URN = Urn.dataset("hive", "shop.written")
NAME = "Ada Lovelace"


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("history")


@pytest.fixture(scope="module")
def catalog(data_dir: Path) -> Iterator[Catalog]:
    """A catalog with an entity that a person, whose name it knows, wrote three times."""
    with Catalog(data_dir=data_dir) as found:
        found.put(URN, "schemaMetadata", {"fields": [{"fieldPath": "weight"}]})
        for text in ("In pounds.", "In kilograms.", "In kilograms,\nnet."):
            found.describe(URN, text)
        found.describe(URN, "Net weight.", column="weight")
        found.add_link(URN, "https://wiki.example.org/written", "The wiki")
        found.put(found.info().user, "corpUserInfo", {"active": True, "displayName": NAME})
        yield found


def shell(data_dir: Path, *words: str) -> str:
    command = (sys.executable, "-m", "explorer.cli", *words, "--data-dir", str(data_dir))
    environment = os.environ | {"COLUMNS": "200"}
    return subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment
    ).stdout


def names_of(catalog: Catalog) -> ActorNames:
    found = catalog.summaries([catalog.info().user])
    return {urn: one.name for urn, one in found.items()}


def terminal(catalog: Catalog, data_dir: Path) -> dict[str, str]:
    """The rows of the terminal's lists."""
    stamps = StampText(Times(), names_of(catalog))
    entity = catalog.entity(URN)

    async def read() -> VersionsList:
        async with AsyncCatalog(data_dir=data_dir) as connected:
            tracks = [one for one in tracks_of(entity) if one.aspect.startswith("editable")]
            for track in tracks:
                await read_more_versions(connected, entity, track, 10)
                track.folded = False
        return VersionsList(tracks, stamps)

    lists: dict[str, Any] = {
        "history": asyncio.run(read()),
        "blame": BlameList(entity, catalog.blame(URN), stamps),
        "column": ColumnList("weight", catalog.column_history(URN, "weight"), stamps),
    }
    return {
        name: "\n".join(one.draw(at, 200)[0].plain for at in range(len(one)))
        for name, one in lists.items()
    }


def pages(catalog: Catalog, data_dir: Path) -> dict[str, dict[str, str]]:
    """What each front end shows of who wrote what."""
    entity, urn = catalog.entity(URN), str(URN)
    aspects = ("--aspect", "editableDatasetProperties", "--aspect", "editableSchemaMetadata")
    return {
        "terminal": terminal(catalog, data_dir),
        "notebook": {
            "history": "".join(
                repr(entity.history(one)) for one in sorted(entity.aspects) if "editable" in one
            ),
            "blame": repr(catalog.blame(URN)),
            "column": repr(catalog.column_history(URN, "weight")),
            "links": repr(entity),
        },
        "shell": {
            "history": shell(data_dir, "history", urn, *aspects),
            "column": shell(data_dir, "history", urn, "--column", "weight"),
            "blame": shell(data_dir, "blame", urn),
            "raw": shell(data_dir, "get", urn, "--aspect", "editableDatasetProperties"),
            "diff": shell(data_dir, "diff", urn, "--aspect", "editableDatasetProperties"),
            "links": shell(data_dir, "get", urn),
        },
    }


def test_every_front_end_shows_what_changed_and_the_name_of_who_changed_it(
    catalog: Catalog, data_dir: Path
) -> None:
    summaries = ("~ description: In pounds. → In kilograms.", "first version")
    for front_end, shown in pages(catalog, data_dir).items():
        for page, text in shown.items():
            assert NAME in text, (front_end, page)
        assert [one for one in summaries if one not in shown["history"]] == [], front_end
        assert "weight" in shown["blame"], front_end
        assert "Net weight." in shown["blame"], front_end


def test_every_front_end_shows_the_same_lines_of_a_difference(
    catalog: Catalog, data_dir: Path
) -> None:
    aspect = "editableDatasetProperties"
    diff = catalog.entity(URN).diff(aspect=aspect)
    told = shell(data_dir, "diff", str(URN), "--aspect", aspect)
    kinds = ("added", "removed", "same")
    lines = [f"{one.mark}{one.text}" for one in value_diff(diff.changes) if one.kind in kinds]
    assert {"-In kilograms.", "+In kilograms,", "+net."} <= set(lines)
    for page in (repr(diff), told):
        assert [one for one in lines if f"  {one}".rstrip() not in page] == []
        assert "~ description" in page


def test_programs_get_the_name_beside_the_urn(catalog: Catalog, data_dir: Path) -> None:
    found = json.loads(shell(data_dir, "history", str(URN), "--json"))
    assert {one["who"] for one in found["versions"]} == {NAME}
    assert {one["actor"] for one in found["versions"]} == {catalog.info().user}


AT = 1_700_000_000_000
STAMP = AuditStamp(time=AT, actor="urn:li:corpuser:ada")


def version(number: int, text: str) -> Version:
    return Version(number, {"description": text}, STAMP, "no-run-id-provided")


def page(*versions: Version, total: int | None = None, truncated: bool = False) -> Versions:
    return Versions(URN, "datasetProperties", versions, 0, total, truncated)


def test_a_version_waits_until_the_one_before_it_was_read() -> None:
    history = AspectHistory("datasetProperties")
    first = history.with_page(page(version(0, "c"), version(2, "b"), total=3, truncated=True))
    assert [step.label for step in first.steps] == ["latest version"]
    assert (first.oldest, first.read_count, first.total) == (version(2, "b"), 2, 3)
    whole = first.with_page(page(version(1, "a"), total=3))
    assert [step.summary for step in whole.steps] == [
        "~ description: b → c",
        "~ description: a → b",
        "first version",
    ]
    assert whole.oldest is None
    assert [one.text for one in whole.steps[-1].diff()] == ["description", "a"]


def test_a_version_whose_forerunner_was_dropped_says_so() -> None:
    dropped = AspectHistory("x").with_page(page(version(0, "b"), version(7, "a")))
    assert dropped.steps[-1].summary == "the version before it is not kept"
    sole = AspectHistory("x").with_page(page(version(0, "b")))
    assert sole.steps[-1].summary == "first version"


def test_tables_have_moments_and_no_run_that_was_none() -> None:
    history = AspectHistory("x").with_page(page(version(0, "b"), version(1, "a")))
    table = history_table("versions", history.steps, {})
    assert to_objects(table)[0] == {
        "time": "2023-11-14T22:13:20+00:00",
        "actor": "urn:li:corpuser:ada",
        "who": "ada",
        "aspect": "x",
        "version": 0,
        "run": None,
        "summary": "~ description: a → b",
        "changes": ["~ /description"],
    }
    assert to_csv(table).splitlines()[1].startswith("2023-11-14T22:13:20+00:00,urn:li:corpuser:ada")
    assert str(to_frame(table)["time"].dtype) == "datetime64[ms, UTC]"
    assert to_objects(blame_table("blame", [], {}, {})) == []


def test_who_wrote_is_named_where_the_name_is_known() -> None:
    ada = Urn.parse("urn:li:corpuser:ada")
    assert actor_of(STAMP, {ada: NAME}) == NAME
    assert actor_of(STAMP, {}) == "ada"
    assert actor_of(AuditStamp(actor="nobody"), {}) == "nobody"
    assert actor_of(None, {}) == ""
    assert actors_of([STAMP, None, STAMP]) == (ada,)
    assert (run_of("no-run-id-provided"), run_of("nightly")) == ("", "run nightly")


def test_the_description_of_a_column_is_found_in_the_version_that_changed_no_other(
    catalog: Catalog,
) -> None:
    entity = catalog.entity(URN)
    first = column_versions("editableSchemaFieldInfo", {"weight": "Gross."}, {"weight": "All."})
    steps = AspectHistory("editableSchemaMetadata").with_page(page(*first)).steps
    found = [old_description_of_step(entity, step) for step in steps]
    assert [(one.path, one.text) for one in found if isinstance(one, OldDescription)] == [
        ("weight", "Gross."),
        ("weight", "All."),
    ]
    several = column_versions("fields", {"weight": "a", "gone": "b"}, {"weight": "b"})
    history = AspectHistory("schemaMetadata").with_page(page(*several))
    newer, older = history.steps
    assert old_description_of_step(entity, newer) == "column by column"
    assert old_description_of_step(entity, replace(newer, changes=None)) == "column by column"
    assert old_description_of_step(entity, replace(newer, changes=())) == "no description"
    assert isinstance(old_description_of_step(entity, older), OldDescription)


def column_versions(array: str, *texts: dict[str, str]) -> Iterator[Version]:
    """Return versions of an aspect of columns, newest first, with these texts."""
    for number, described in enumerate(texts):
        listed = [{"fieldPath": path, "description": text} for path, text in described.items()]
        yield replace(version(number, ""), value={array: listed})


def test_an_old_description_is_found_in_versions_and_changes(catalog: Catalog) -> None:
    entity = catalog.entity(URN)
    versions = tuple(catalog.versions(URN, "editableDatasetProperties"))
    old = [old_description(entity, "editableDatasetProperties", one) for one in versions]
    assert old[0] == "unchanged"
    assert [one.text for one in old[1:] if isinstance(one, OldDescription)] == [
        "In kilograms.",
        "In pounds.",
    ]
    assert old_description(entity, "schemaMetadata", versions[1]) == "no description"
    (change,) = catalog.column_history(URN, "weight")
    assert old_column_description(entity, "weight", change) == "unchanged"
    assert old_column_description(entity, "gone", change) == "no column"
    # Before its case changed the column had another path.
    assert old_column_description(entity, "WEIGHT", change) == "unchanged"
    older = replace(change, after="Gross weight.")
    found = old_column_description(entity, "weight", older)
    assert isinstance(found, OldDescription)
    assert (found.text, found.current_text, found.path) == (
        "Gross weight.",
        "Net weight.",
        "weight",
    )
