"""Two who write changesets to the same columns through a bad line: nothing vanishes silently.

The long form is `python -m tests.benchmarks.edits`.
"""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from explorer.client import Catalog
from explorer.client.journal import Journal
from explorer.metadata import Urn
from explorer.stewardship import StagedChangeset, StagedEdit, Stewardship
from tests.client.test_simultaneous_edits import Failing, schema
from tests.conftest import serving_catalog

TABLE = Urn.dataset("hive", "raced.orders")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving_catalog(tmp_path_factory.mktemp("race")) as address:
        yield address


class Writer:
    """Writes one changeset until all of it is written, over what others wrote where it has to; each
    edit over what was seen there. `acknowledged` are its columns and texts in the end."""

    def __init__(self, address: str, directory: Path, name: str, columns: list[str]) -> None:
        self.address, self.name, self.columns = address, name, columns
        self.journal = directory / f"{name}.jsonl"
        self.path = directory / f"{name}.changes.jsonl"
        self.lost = self.conflicts = 0
        self.acknowledged: dict[str, str] = {}

    def write(self) -> None:
        edits = [
            StagedEdit(str(TABLE), TABLE.name, column, text=f"{self.name} on {column}")
            for column in self.columns
        ]
        person = f"urn:li:corpuser:{self.name}"
        staged = StagedChangeset.create(
            self.path, edits, title=self.name, server="", proposed_by=person
        )
        staged.decide_open("accepted", person)
        dice = random.Random(self.name)
        carrier = Failing(self.address, dice, 0.1)
        with Catalog(transport=carrier) as catalog:
            catalog.keep_journal(self.journal)
            steward = Stewardship(catalog)
            while staged.of("accepted"):
                steward.apply_staged(staged)
                for item in staged.of("failed"):
                    self.conflicts += 1
                    staged.decide(item.number, "accepted", person, before=item.theirs)
        self.lost = carrier.lost
        self.acknowledged = {
            item.edit.column or "": item.edit.text for item in staged.of("applied")
        }


@pytest.mark.parametrize("columns", [60])
def test_every_acknowledged_text_is_in_a_version_and_in_its_writers_journal(
    place: str, tmp_path: Path, columns: int
) -> None:
    paths = [f"c{at}" for at in range(columns)]
    with Catalog(place) as catalog:
        catalog.put(TABLE, "schemaMetadata", schema(paths))
    writers = [Writer(place, tmp_path, name, paths) for name in ("ann", "ben")]
    with ThreadPoolExecutor(len(writers)) as threads:
        for done in [threads.submit(writer.write) for writer in writers]:
            done.result()
    assert all(writer.lost for writer in writers)
    assert any(writer.conflicts for writer in writers)
    with Catalog(place) as catalog:
        versions = list(catalog.every_version(TABLE, "editableSchemaMetadata", page_size=200))
    held = {
        (info["fieldPath"], info.get("description", ""))
        for version in versions
        for info in version.value["editableSchemaFieldInfo"]
    }
    for writer in writers:
        entries = list(Journal(writer.journal))
        journaled = {(entry.column, entry.after) for entry in entries}
        wrong = [
            (column, text)
            for column, text in writer.acknowledged.items()
            if (column, text) not in held or (column, text) not in journaled
        ]
        assert sorted(writer.acknowledged) == sorted(paths)
        assert wrong == []
        # What it replaced is what its journal says, so that it can be taken back.
        (colleague,) = (one for one in writers if one is not writer)
        for entry in entries:
            assert entry.before in (None, "", f"{colleague.name} on {entry.column}")
