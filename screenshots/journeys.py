"""The ways to the screens of which there are pictures: keys that are pressed, one after another."""

import asyncio
import atexit
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from textual import events
from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from explorer.agents.proposing import ProposedChange, propose_changes
from explorer.config import state_dir
from explorer.metadata.urn import Urn
from explorer.stewardship import AsyncStewardship
from explorer.stewardship.staging import Agent
from explorer.tui.screens.entity import EntityView

if TYPE_CHECKING:
    from explorer.tui.app import CatalogApp

_WIDE, _NARROW = (120, 36), (80, 24)
_KEPT_SECONDS = 0.6
"""After this long a pause what was typed is kept as a draft."""


class Words(str):
    """Letters that are typed in one go, where each of them would be a key."""

    __slots__ = ()


_Steps = Callable[[Pilot[None]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Journey:
    """What is pressed, or done otherwise, from the first screen on; `at` is the entity that the
    terminal is opened with, `theme` the colours, and `size` has columns and lines."""

    steps: tuple[str | _Steps, ...]
    at: Urn | None = None
    size: tuple[int, int] = _WIDE
    theme: str | None = None

    async def make(self, pilot: Pilot[None]) -> None:
        """Go to the journey's end, and wait for what is seen there."""
        if self.theme is not None:
            pilot.app.theme = self.theme
        await settle(pilot)
        for step in self.steps:
            if isinstance(step, str):
                await pilot.press(*(step if isinstance(step, Words) else [step]))
            else:
                await step(pilot)
            await settle(pilot)


async def settle(pilot: Pilot[None]) -> None:
    """Wait until nothing is being read and what was read is drawn."""
    for _ in range(3):
        with suppress(WorkerCancelled):
            await pilot.app.workers.wait_for_complete()
        await pilot.pause()


async def _pause(pilot: Pilot[None]) -> None:
    """The writer stops for a moment."""
    del pilot
    await asyncio.sleep(_KEPT_SECONDS)


async def _write_meanwhile(pilot: Pilot[None]) -> None:
    """A colleague saves another text of what one is writing."""
    catalog = await cast("CatalogApp", pilot.app)._session.catalog()
    view = pilot.app.screen_stack[0].query_one(EntityView)
    await catalog.describe(
        _table("fct_orders"), "The state of the order.", column=view.column_path()
    )


async def _propagate(pilot: Pilot[None]) -> None:
    """Columns get texts along lineage, and one of the texts that they came from is changed."""
    catalog = await cast("CatalogApp", pilot.app)._session.catalog()
    steward = AsyncStewardship(catalog)
    edits = await steward.propose_descriptions(text="name:dim_*")
    if not edits:
        # Another journey was here before.
        return
    staged = await steward.stage(edits, "Texts", state_dir() / "texts.changes.jsonl")
    staged.decide_open("accepted", "urn:li:corpuser:ada")
    await steward.apply_staged(staged)
    source = next(edit.sources[0] for edit in edits if edit.sources[0].urn)
    text = "The number that the shop gives a customer."
    await catalog.describe(source.urn, text, column=source.column)


async def _propose(pilot: Pilot[None]) -> None:
    """An assistant proposes what it found out about reviews of products."""
    catalog = await cast("CatalogApp", pilot.app)._session.catalog()
    urn = str(_table("fct_reviews"))
    texts = {
        "rating": "Stars that the customer gave, from 1 to 5.",
        "fit": "How clothes fit: `small`, `true` or `large`; empty for everything else.",
        "is_verified": "Whether the customer **bought** the product before they wrote.",
        "published_on": "Day on which the review went live, after moderation.",
    }
    changes = [
        ProposedChange(urn, "description", column=path, text=text, why=_WHYS.get(path, ""))
        for path, text in texts.items()
    ]
    await propose_changes(
        catalog,
        [*changes, ProposedChange(urn, "terms", column="customer_id", add=("Customer",))],
        agent=Agent("claude-code", "2.1", "opus-5"),
        why="asked which columns of reviews are undocumented",
        title="Columns of fct_reviews",
        writes=False,
    )


_WHYS = {"fit": "the values that stg_reviews has"}

_PROJECT = """\
version: 2
models:
  - name: fct_orders
    columns:
      - name: order_number
      - name: net_amount
        description: In EUR, without VAT.
  - name: dim_customers
    columns:
      - name: segment
        description: "{{ doc('segment') }}"
"""


async def _name_project(pilot: Pilot[None]) -> None:
    """Name the folder of a dbt project whose models are tables of the sample."""
    root = state_dir() / "shop"
    (root / "models/marts").mkdir(parents=True)
    (root / "dbt_project.yml").write_text("name: shop\n")
    (root / "models/marts/marts.yml").write_text(_PROJECT)
    for name in ("fct_orders", "dim_customers", "fct_payments", "fct_refunds"):
        (root / f"models/marts/{name}.sql").write_text("select 1\n")
    pilot.app.post_message(events.Paste(str(root)))
    await pilot.press("enter")


_WAREHOUSE = Path(tempfile.gettempdir()) / "tarnwood/warehouse.duckdb"
"""Where a DuckDB file lies while pictures are taken; the form of a source shows the path."""

_TABLES = """
create table stores (id int primary key, name varchar, city varchar, opened date);
create table tills (id int primary key, store_id int references stores, model varchar);
create table receipts (
    id bigint primary key, till_id int references tills, paid timestamp, total decimal(10, 2)
);
create view takings as
    select s.city, cast(r.paid as date) as day, sum(r.total) as total
    from receipts r join tills t on t.id = r.till_id join stores s on s.id = t.store_id
    group by all;
"""


async def _type_warehouse(pilot: Pilot[None]) -> None:
    """Name a DuckDB file of three tables and a view."""
    import duckdb

    atexit.register(shutil.rmtree, _WAREHOUSE.parent, ignore_errors=True)
    _WAREHOUSE.parent.mkdir(exist_ok=True)
    _WAREHOUSE.unlink(missing_ok=True)
    with duckdb.connect(str(_WAREHOUSE)) as connection:
        connection.execute(_TABLES)
    await pilot.press("a")
    pilot.app.post_message(events.Paste(str(_WAREHOUSE)))
    await pilot.press("enter")


def _table(name: str) -> Urn:
    return Urn.parse(f"urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.{name},PROD)")


def _orders(*steps: str | _Steps, theme: str | None = None) -> Journey:
    return Journey(steps, _table("fct_orders"), theme=theme)


def _customers(*steps: str) -> Journey:
    return Journey(steps, _table("dim_customers"))


def _first(*steps: str | _Steps) -> Journey:
    return Journey(steps)


def _narrow(journey: Journey) -> Journey:
    return Journey(journey.steps, journey.at, _NARROW)


_REVIEW = ("W", "f", Words("name:dim_*"), "enter", "p", _pause, "a", "x", "a", "down")
_COLUMNS = ("down", "down", "u")
_RAW = (*["down"] * 3, "space", *["down"] * 6, "space")
_STATUS = Words("Paid, refunded or open.")
_EDITING = (
    *("u", "e", Words("Where the order stands:"), "enter", "enter"),
    *(Words("- `open` not paid yet"), "enter", Words("- `paid` payment **captured**"), _pause),
)

JOURNEYS: dict[str, Journey] = {
    # Before any that writes.
    "worklist": _first("W"),
    "coverage": _first("C", "left", "left"),
    "review": _first(*_REVIEW),
    "concept": _first("f7", Words("customer_id"), "enter"),
    "dbt": _first("V", "d", _name_project, "down"),
    "worklist-80x24": _narrow(_first("W")),
    "coverage-80x24": _narrow(_first("C", "left", "left")),
    "welcome": _first("ctrl+g"),
    "find": _first("slash", Words("order")),
    "facets": _first("slash", Words("order"), "enter", "f", "down", "enter"),
    "condition": _first("slash", Words("order"), "enter", "c"),
    "why": _first("slash", Words("order"), "enter", "w"),
    "columns": _orders(*_COLUMNS),
    "overview": _orders("1"),
    "lineage": _orders("3", "l", "l"),
    "impact": _orders("3", "x"),
    "ways": _orders("3", "m", "l", "l", "p"),
    "relationships": _orders("4"),
    "usage": _orders("5", "left", "left"),
    "profile": _customers("6", *["down"] * 4),
    "profile-column": _customers("6", *["down"] * 3, "enter", *["left"] * 3),
    "history": _orders("7", *["down"] * 4),
    "blame": _orders("7", "b", "down"),
    "raw": _orders("8", *_RAW),
    "editor": _orders(*_EDITING),
    "difference": _orders("j", "e", "ctrl+end", Words(" Never reused."), "ctrl+d"),
    "drafts": _orders(
        *("u", "e", _STATUS, "escape", "j", "j", "e", Words("Half a"), "escape", "f4")
    ),
    "tags": _orders("1", "t", Words("pi")),
    "links": _orders("1", "L"),
    "browse": _first("f6", "down", "right", "down", "right"),
    "keys": _orders("question_mark"),
    "palette": _orders("colon", Words("desc")),
    "govern": Journey(("f12",), Urn.parse("urn:li:glossaryNode:Classification")),
    "servers": _first("f3"),
    "sources": _first("A", _type_warehouse),
    "export": _orders("X"),
    "log": _orders("ctrl+l"),
    "settings": _first("ctrl+k"),
    "light": _orders(*_COLUMNS, theme="light"),
    "contrast": _orders(*_COLUMNS, theme="high-contrast"),
}
for _name in (
    "worklist",
    "coverage",
    "review",
    "concept",
    "dbt",
    "find",
    "columns",
    "lineage",
    "history",
    "raw",
    "usage",
    "profile",
    "editor",
    "sources",
):
    JOURNEYS[f"{_name}-80x24"] = _narrow(JOURNEYS[_name])
JOURNEYS["browse-80x24"] = _narrow(JOURNEYS["browse"])
# Last, for they change the sample.
JOURNEYS["propagated"] = _first(_propagate, "P")
JOURNEYS["propagated-80x24"] = _narrow(JOURNEYS["propagated"])
JOURNEYS["agents"] = _first(_propose, "V", _pause, "enter", _pause, "a", "down")
JOURNEYS["conflict"] = _orders("u", "e", _STATUS, _write_meanwhile, "ctrl+s", _pause)
JOURNEYS["journal"] = _orders(
    *("f", Words("carrier"), "enter", "j", "e", Words("Who brings it."), "ctrl+s", _pause, "f8")
)
