"""The rows of the folders: what is unfolded stands below its folder, and little is kept; folders
are read where they are looked at, and an entity is found in all of them."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from explorer.client import AsyncCatalog, folders
from explorer.client.folders import (
    EntryPage,
    FixedSource,
    FolderEntry,
    FolderSource,
    TypesSource,
    folder_at,
    list_folder,
    natural_order,
    read_folder_tree,
)
from explorer.errors import NotFound, Unreachable
from explorer.metadata import Proposal, Urn
from explorer.sessions.browse import PAGE, Branch, BrowseSession, Outline


def folder(name: Any) -> Any:
    return FolderEntry(name, count=1, below=FixedSource(()))


def leaf(number: Any) -> Any:
    return FolderEntry(f"t{number}", Urn.dataset("hive", f"t{number}"))


def filled(branch: Any, entries: Any) -> None:
    for number in range(max(1, -(-len(entries) // PAGE))):
        page = tuple(entries[number * PAGE : (number + 1) * PAGE])
        branch.take(number, EntryPage(page, len(entries)))


def first_names(outline: Outline, count: int) -> list[str]:
    entries = (outline.locate(row).entry for row in range(count))
    return [entry.name for entry in entries if entry is not None]


def unfold(branch: Branch, row: int) -> Branch:
    entry = branch.entry_at(row)
    assert entry is not None
    below = branch.unfold(row, entry)
    assert below is not None
    return below


def written_out(branch: Any, depth: int = 0) -> Iterator[Any]:
    """All rows, one after another, the slow way."""
    if not branch.total:
        yield branch, -1, depth
    for index in range(branch.total or 0):
        yield branch, index, depth
        held = branch.below.get(index)
        if held is not None and held.unfolded:
            yield from written_out(held, depth + 1)


def grown(seed: Any) -> Any:
    chance = random.Random(seed)
    outline = Outline(FixedSource(()))

    def grow(branch: Any, depth: Any) -> None:
        filled(branch, [folder(f"f{n}") for n in range(chance.randrange(5))] + [leaf(1), leaf(2)])
        for index in range(branch.total - 2):
            if depth < 4 and chance.random() < 0.6:
                below = branch.unfold(index, branch.entry_at(index))
                if chance.random() < 0.8:
                    grow(below, depth + 1)
                if chance.random() < 0.3:
                    below.fold()

    grow(outline.root, 0)
    return outline


@pytest.mark.parametrize("seed", range(20))
def test_a_row_is_where_it_would_stand_if_all_were_written_out(seed: int) -> None:
    outline = grown(seed)
    slow = list(written_out(outline.root))
    spots = [outline.locate(row) for row in range(outline.height)]
    assert [(spot.branch, spot.index, spot.depth) for spot in spots] == slow
    places = [outline.row_of(spot.branch, max(0, spot.index)) for spot in spots]
    assert places == list(range(outline.height))


def test_a_million_entries_are_one_number_and_the_pages_looked_at() -> None:
    outline = Outline(FixedSource(()))
    root = outline.root
    total = 1_000_000
    for number in range(0, total // PAGE, 50):
        root.take(number, EntryPage(tuple(leaf(number * PAGE + n) for n in range(PAGE)), total))
        outline.forget([(root, number)])
    assert outline.height == total
    assert sum(map(len, root.pages.values())) < 6_000
    assert outline.locate(total - 1).entry is None
    assert root.needs_page(root.page_of(total - 1))


def test_what_is_unfolded_stays_so_where_its_folder_is_after_reading_again() -> None:
    outline = Outline(FixedSource(()))
    root = outline.root
    filled(root, [folder("b"), folder("c")])
    below = unfold(root, 1)
    filled(below, [leaf(1)])
    root.reload()
    assert root.needs_page(0)
    assert first_names(outline, 3) == ["b", "c", "t1"]
    filled(root, [folder("a"), folder("b"), folder("c")])
    assert first_names(outline, 4) == ["a", "b", "c", "t1"]
    filled(root, [folder("a")])
    assert outline.height == 1
    filled(root, [folder("c"), folder("d")])
    assert first_names(outline, 3) == ["c", "t1", "d"]


def test_a_filter_is_taken_off_and_what_was_unfolded_is_back() -> None:
    root = Outline(FixedSource(())).root
    filled(root, [folder("a"), folder("b")])
    unfold(root, 1)
    root.narrow("x")
    assert (root.height, root.below) == (1, {})
    root.narrow("")
    filled(root, [folder("a"), folder("b")])
    assert list(root.below) == [1]


def test_entries_at_hand_are_narrowed_without_the_server_and_folders_with_it() -> None:
    asked = []

    class Server:
        by_name = False

        def narrow(self, text: Any, known: Any) -> Any:
            asked.append(text)
            return FixedSource(())

    root = Branch(folder("top"), cast(Any, Server()))
    filled(root, [leaf(1), leaf(2)])
    root.narrow("T2")
    assert isinstance(root.source, FixedSource)
    assert [entry.name for entry in root.source.entries] == ["t2"]
    root.narrow("")
    filled(root, [folder("deep"), leaf(1)])
    root.narrow("t2")
    assert asked == ["t2"]


def test_names_sort_as_people_count() -> None:
    names = ["s10", "S2", "s1", "a2b10", "a2b9", "٣"]
    assert sorted(names, key=natural_order)[-5:] == ["a2b9", "a2b10", "s1", "S2", "s10"]


class Halting(AsyncCatalog):
    """The catalog; its folders are held back as long as the gate is shut, and can fail."""

    def __init__(self, directory: Path) -> None:
        super().__init__(data_dir=directory)
        self.gate = asyncio.Event()
        self.gate.set()
        self.failing: Unreachable | None = None

    async def browse(self, *arguments: Any, **further: Any) -> Any:
        await self.gate.wait()
        if self.failing is not None:
            raise self.failing
        return await super().browse(*arguments, **further)


@pytest.fixture
async def catalog(sample: Path) -> AsyncIterator[Halting]:
    async with Halting(sample) as catalog:
        yield catalog


async def read_all(session: BrowseSession) -> None:
    """Read what is looked at, as a front end does."""
    while pages := session.claim(0, 20):
        await asyncio.gather(*(session.read_claimed(*page) for page in pages))


@pytest.mark.anyio
async def test_the_first_type_is_open_and_what_is_looked_at_is_read(catalog: Halting) -> None:
    session = BrowseSession(catalog, Outline(TypesSource()))
    await read_all(session)
    names = first_names(session.state.outline, session.state.outline.height)
    assert names[0] == "datasets"
    assert "prod" in names[1:]
    assert session.state.revision > 1
    assert not session.is_reading


@pytest.mark.anyio
async def test_a_folder_that_cannot_be_read_says_why_and_is_read_again(catalog: Halting) -> None:
    outline = Outline(TypesSource())
    session = BrowseSession(catalog, outline)
    catalog.failing = Unreachable("no catalog answers")
    await session.read(outline.root, 0)
    datasets = outline.root.below[0]
    with pytest.raises(Unreachable):
        await session.read(datasets, 0)
    assert outline.locate(1).error is catalog.failing
    # It is not asked for again and again.
    assert (datasets, 0) not in session.claim(0, 20)
    catalog.failing = None
    datasets.failed.clear()
    await read_all(session)
    assert outline.locate(1).error is None
    assert datasets.total


@pytest.mark.anyio
async def test_an_answer_to_what_is_filtered_meanwhile_is_not_taken(catalog: Halting) -> None:
    outline = Outline(TypesSource())
    session = BrowseSession(catalog, outline)
    await session.read(outline.root, 0)
    datasets = outline.root.below[0]
    catalog.gate.clear()
    late = asyncio.create_task(session.read(datasets, 0))
    await asyncio.sleep(0)
    datasets.narrow("fct")
    catalog.gate.set()
    assert not await late
    assert datasets.total is None


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["dataset", "dashboard"])
async def test_the_folders_that_a_source_sends_are_shown_by_the_names_of_what_they_stand_for(
    catalog: Halting, kind: str
) -> None:
    is_table = kind == "dataset"
    urn = Urn.dataset("hive", "sent") if is_table else Urn.of("dashboard", "looker", "sent")
    container = Urn.of("container", f"of-{kind}")
    steps = [{"id": "Top/Level"}, {"id": str(container), "urn": str(container)}]
    name = {"name": f"Sales / {kind}"}
    await catalog.ingest(Proposal(container, "containerProperties", name))
    await catalog.ingest(Proposal(urn, "browsePathsV2", {"path": steps}))
    if not is_table:
        stamp = {"time": 0, "actor": "urn:li:corpuser:ann"}
        changes = {"created": stamp, "lastModified": stamp}
        info = {"title": "sent", "description": "", "lastModified": changes}
        await catalog.ingest(Proposal(urn, "dashboardInfo", info))
    session = BrowseSession(catalog, Outline(TypesSource()))
    location = await session.reveal(urn)
    assert location.index is not None
    folder = location.branch.entry
    assert (folder.name, folder.count) == (f"Sales / {kind}", 1)
    assert location.branch.above is not None
    assert location.branch.above.entry.name == "Top/Level"
    # Typed as it is shown.
    path = await folder_at(catalog, f"/Top\\/Level/Sales \\/ {kind}", kind)
    page = await catalog.browse(path, entity=kind)
    assert [entity.urn for entity in page.entities] == [urn]
    assert (await catalog.entity(urn)).browse_paths == (f"/Top\\/Level/of-{kind}",)
    # What is filtered by a name is found in the same folders.
    source = FolderSource(kind, "/Top\\/Level").narrow("sent", ())
    found = await source.read(catalog, 0, 10)
    assert [entry.name for entry in found.head] == [f"Sales / {kind}"]


@pytest.mark.anyio
async def test_an_entity_is_found_in_its_folder_also_beside_another_session(
    catalog: Halting,
) -> None:
    urn = Urn.dataset("snowflake", "analytics.marts.fct_orders")
    one, two = (BrowseSession(catalog, Outline(TypesSource())) for _ in range(2))
    locations = await asyncio.gather(one.reveal(urn), two.reveal(urn))
    for session, location in zip((one, two), locations, strict=True):
        assert location.index is not None
        row = session.state.outline.row_of(location.branch, location.index)
        spot = session.state.outline.locate(row)
        assert spot.entry is not None
        assert spot.entry.urn == urn
        names, branch = [], location.branch
        while branch.above is not None:
            names.append(branch.entry.name)
            branch = branch.above
        assert names == ["marts", "analytics", "snowflake", "prod", "datasets"]
    gone = await one.reveal(Urn.dataset("hive", "never.there"))
    assert gone.index is None
    assert one.state.message is not None
    assert one.state.message.sentence == "The server lists it in no folder."


@pytest.mark.anyio
@pytest.mark.parametrize("page_size", [3, 1_000])
async def test_a_folder_is_listed_as_it_is_browsed(
    catalog: Halting, page_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "_ENTRIES", page_size)
    marts = FolderSource("dataset", "/prod/snowflake/analytics/marts")
    browsed = await marts.read(catalog, 0, 200)
    listing = await list_folder(catalog, "prod/snowflake/analytics/marts/", ["dataset"])
    names = sorted(entry.name for entry in browsed.entries)
    assert sorted(named.name for _, named in listing.entities) == names
    assert len(names) > page_size or page_size == 1_000
    assert (listing.total, listing.shown) == (len(names), len(names))
    some = await list_folder(catalog, "/prod/snowflake/analytics/marts", limit=5)
    assert (some.shown, some.total) == (5, len(names))
    trees = await read_folder_tree(catalog, "/prod/snowflake", ["dataset"], 2)
    (counts,) = ({t.name: t.count for t in tree.below} for tree in trees if "marts" in str(tree))
    assert counts["marts"] == listing.below
    with pytest.raises(NotFound, match="there is no folder /nowhere"):
        await list_folder(catalog, "/nowhere")
