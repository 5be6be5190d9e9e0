"""A recipe of DataHub's ingestion is run by DataHub's own command, and what it finds comes in as
from any other source."""

import json
import os
import shlex
import sqlite3
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from explorer.client import Catalog
from explorer.errors import InvalidFile, Misconfigured
from explorer.metadata.urn import Urn
from explorer.sources.configured import find_source, read_runs
from explorer.sources.location import find_local_sources, open_source
from explorer.sources.source import SourceOptions
from tests.datahub.environments import RELEASE, NotInstalled, install_release
from tests.sources.conftest import Run, dataset, quiet

# The first test may install DataHub's tools.
WriteRecipe = Callable[..., Path]


@pytest.fixture
def recipe(tmp_path: Path) -> WriteRecipe:
    """Writes a recipe with a source of that type and config."""

    def write(kind: str = "sqlalchemy", **config: Any) -> Path:
        path = tmp_path / "shop.yml"
        source = {"type": kind, "config": config}
        sink = {"type": "datahub-rest", "config": {"server": "http://127.0.0.1:9"}}
        # Another server, and memory that is kept there: neither is asked.
        given = {"pipeline_name": "shop-db", "datahub_api": {"server": "http://127.0.0.1:9"}}
        path.write_text(yaml.safe_dump({**given, "source": source, "sink": sink}))
        return path

    return write


@pytest.fixture
def datahub(monkeypatch: pytest.MonkeyPatch) -> Path:
    """DataHub's command, named as one that is not on the path is."""
    try:
        command = install_release(RELEASE) / "datahub"
    except NotInstalled as error:
        pytest.skip(str(error))
    monkeypatch.setenv("CATALOG_DATAHUB", str(command))
    return command


def execute(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(script)


@pytest.mark.nightly
def test_a_database_is_read_by_datahub_again_and_again(
    datahub: Path, recipe: WriteRecipe, command: Run, cat: Catalog, tmp_path: Path
) -> None:
    execute(
        tmp_path / "hidden-name.db",
        "create table orders (id integer primary key, mail text); create table old (id integer)",
    )
    stateful = {"enabled": True, "remove_stale_metadata": True}
    # The path begins in the recipe's own folder.
    path = recipe(
        connect_uri="sqlite:///${SHOP_FILE}",
        platform="sqlite",
        stateful_ingestion=stateful,
        options={"echo": False},
    )
    variables = {"SHOP_FILE": "hidden-name.db", "CATALOG_DATAHUB": str(datahub)}
    shown = command("add", str(path), "--dry-run", **variables)
    assert shown.code == 0, shown
    assert "2 tables, 3 columns" in shown.out
    assert not cat.exists(dataset("sqlite", "main.orders"))
    ran = command("add", str(path), **variables)
    assert ran.code == 0, ran
    orders = dataset("sqlite", "main.orders")
    assert cat.entity(orders).schema.column("mail") is not None
    listed = json.loads(command("sources", "--json").out)
    assert [(one["name"], one["kind"], one["state"], one["datasets"]) for one in listed] == [
        ("shop-db", "datahub", "done", 2)
    ]
    assert listed[0]["location"] == str(path)
    source = find_source(cat, "shop-db")
    assert source is not None
    assert "hidden-name" not in json.dumps(source.proposal().value)

    cat.describe(Urn.parse(orders), "Written by a person.", column="mail")
    again = command("sources", "run", "shop-db", **variables)
    assert again.code == 0, again
    assert "unchanged; 0 aspects written" in again.out

    execute(tmp_path / "hidden-name.db", "drop table old; alter table orders add column total real")
    changed = command("sources", "run", "shop-db", **variables)
    assert "1 changed, 1 gone" in changed.out
    assert "column total added" in changed.out
    assert cat.entity(dataset("sqlite", "main.old")).removed
    column = cat.entity(orders).schema.column("mail")
    assert column is not None
    assert column.description == "Written by a person."


@pytest.mark.nightly
def test_a_run_that_fails_writes_nothing_and_says_why_without_secrets(
    datahub: Path, recipe: WriteRecipe, command: Run, cat: Catalog, tmp_path: Path
) -> None:
    execute(tmp_path / "shop.db", "create table orders (id integer primary key)")
    variables = {"SHOP_FILE": str(tmp_path / "shop.db"), "CATALOG_DATAHUB": str(datahub)}
    path = recipe(connect_uri="sqlite:///${SHOP_FILE}", platform="sqlite")
    assert command("add", str(path), **variables).code == 0
    variables["SHOP_FILE"] = "/nowhere/hushed-place.db"
    ran = command("sources", "run", "shop-db", **variables)
    assert ran.code == 1, ran
    assert f"datahub ingest of {path} failed, with exit code 1, and nothing was written" in ran.err
    assert "unable to open database file" in ran.err
    assert "hushed-place" not in ran.err
    source = find_source(cat, "shop-db")
    assert source is not None
    runs = read_runs(cat, source)
    assert [one.status for one in runs] == ["FAILURE", "SUCCESS"]
    assert "unable to open database file" in runs[0].report
    assert "hushed-place" not in runs[0].report
    assert not cat.entity(dataset("sqlite", "main.orders")).removed

    unknown = command("add", str(recipe("nosuch")), "--name", "other", **variables)
    assert unknown.code == 1
    assert "Failed to find a registered source for type nosuch" in unknown.err


def stand_in(folder: Path, script: str) -> Path:
    """A program in the place of DataHub's, whose second argument after `-c` is the recipe."""
    path = folder / "stand-in"
    python = (
        f"import sys, json, os, yaml, time\nrecipe = yaml.safe_load(open(sys.argv[4]))\n{script}"
    )
    path.with_suffix(".py").write_text(python)
    run = f"exec {shlex.quote(sys.executable)} {shlex.quote(str(path.with_suffix('.py')))}"
    path.write_text(f'#!/bin/sh\n{run} "$@"\n')
    path.chmod(0o755)
    return path


def test_patches_and_measurements_are_written_once(
    recipe: WriteRecipe, command: Run, cat: Catalog, tmp_path: Path
) -> None:
    urn = dataset("pg", "shop.orders")
    owner = {"owner": "urn:li:corpuser:ana", "type": "DATAOWNER"}
    patch = {
        "arrayPrimaryKeys": {"owners": ["owner", "type"]},
        "patch": [{"op": "add", "path": "/owners/urn:li:corpuser:ana/DATAOWNER", "value": owner}],
    }

    def record(aspect: str, value: Any, about: str = urn, change: str = "UPSERT") -> Any:
        return {
            "entityType": about.split(":")[2],
            "entityUrn": about,
            "changeType": change,
            "aspectName": aspect,
            "aspect": {"json": value},
        }

    records = [
        record("status", {"removed": False}),
        record("ownership", patch, change="PATCH"),
        record("tagProperties", {"name": "pii"}, "urn:li:tag:pii"),
        record("datasetProfile", {"timestampMillis": 0, "rowCount": 7}),
        {"proposedSnapshot": {"unknown": {}}},
    ]
    script = f"""
records = {records!r}
records[3]["aspect"]["json"]["timestampMillis"] = int(time.time() * 1000)
json.dump(records, open(recipe["sink"]["config"]["filename"], "w"))
"""
    variables = {"CATALOG_DATAHUB": str(stand_in(tmp_path, script))}
    ran = command("add", str(recipe()), **variables)
    assert ran.code == 0, ran
    assert "skipped record 5" in ran.err
    owners = cat.entity(urn).raw("ownership") or {}
    assert [one["owner"] for one in owners["owners"]] == ["urn:li:corpuser:ana"]
    again = command("sources", "run", "shop-db", **variables)
    assert "2 unchanged; 0 aspects written" in again.out, again
    # Another source or a person may have the tag as well.
    source = find_source(cat, "shop-db")
    assert source is not None
    assert list(source.state.seen) == [urn]


def test_the_process_is_ended_when_a_reader_stops(recipe: WriteRecipe, tmp_path: Path) -> None:
    script = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)"
    started = threading.Event()

    class Stopped(Exception):
        pass

    def progress(_what: str, _done: int, _total: int | None) -> None:
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
            started.set()
            raise Stopped

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CATALOG_DATAHUB", str(stand_in(tmp_path, script)))
        with pytest.raises(Stopped):
            open_source(str(recipe()), SourceOptions()).read(progress)
    assert started.is_set()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_what_is_missing_is_said_with_what_to_do(
    recipe: WriteRecipe, command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = recipe("postgres", host_port="db:5432")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(Misconfigured, match=r"pip install 'acryl-datahub\[postgres\]'"):
        open_source(str(path), SourceOptions()).read(quiet)
    monkeypatch.setenv("CATALOG_DATAHUB", "/nowhere/datahub")
    with pytest.raises(Misconfigured, match="CATALOG_DATAHUB names /nowhere/datahub, which"):
        open_source(str(path), SourceOptions()).read(quiet)
    told = command("add", str(path), "--env", "DEV")
    assert "shop.yml itself says what to read: leave out --env" in told.err
    (tmp_path / "other.yml").write_text("a: 1\n")
    assert "is no file that is known" in command("add", str(tmp_path / "other.yml")).err
    (tmp_path / "broken.yml").write_text("a: [\n")
    with pytest.raises(InvalidFile, match=r"broken\.yml cannot be read as YAML"):
        open_source(str(tmp_path / "broken.yml"), SourceOptions())
    (tmp_path / "manifest.json").write_text('{"metadata": ')
    with pytest.raises(InvalidFile, match=r"manifest\.json cannot be read as JSON"):
        open_source(str(tmp_path / "manifest.json"), SourceOptions())


def test_recipes_by_their_usual_name_are_found_in_a_folder(
    recipe: WriteRecipe, tmp_path: Path
) -> None:
    recipe().rename(tmp_path / "shop.dhub.yaml")
    found = {one.location: one.known_from for one in find_local_sources(tmp_path)}
    assert found[str(tmp_path / "shop.dhub.yaml")] == "a recipe of DataHub"
