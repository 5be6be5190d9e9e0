"""An explorer over its life: made again, closed, saved in a notebook, told hostile texts."""

import gc
import html
import json
import socket
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest

from explorer import Catalog
from explorer.client import Retry
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.notebook import explorer as widget
from explorer.notebook.explorer import Explorer
from tests.conftest import SampleAt, serving_catalog

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.fct_orders,PROD)"
WAIT_SECONDS = 30
PAYLOAD = (
    "<script>window.__xss = 1</script>\x1b[31m\u202e [here](javascript:alert(1)) "
    '![x](https://evil.example/x.png) <img src=x onerror="window.__xss = 1">'
)
SYNCED = (
    "find",
    "offers",
    "tree",
    "page",
    "tab",
    "editor",
    "typed",
    "preview",
    "busy",
    "problem",
    "said",
)


@pytest.fixture
def in_cell(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Says which cell runs, as a front end does."""

    def say(cell: Any) -> None:
        monkeypatch.setattr(widget, "running_cell", lambda: cell)

    return say


def hear(explorer: Any, kind: Any, **more: Any) -> None:
    """What the page would send."""
    explorer._handle_custom_msg({"kind": kind, "seq": 1, "view": "page", **more}, [])
    assert explorer.wait(WAIT_SECONDS)


def type_(explorer: Any, text: Any, path: Any = None) -> None:
    """What a page would say of the text in its editor."""
    typed = {"urn": explorer.selected, "path": path, "text": text, "view": "page"}
    explorer.set_state({"typed": {**typed, "revision": explorer.typed["revision"] + 1}})
    assert explorer.wait(WAIT_SECONDS)


def folders(explorer: Any) -> list[str]:
    return [one["name"] for one in explorer.tree]


def threads() -> Any:
    return [one for one in threading.enumerate() if one.name.startswith("catalog-explorer-")]


def test_a_cell_run_again_goes_on_where_it_was_and_leaks_nothing(
    cat: Catalog, in_cell: Any
) -> None:
    in_cell("again")
    first = cat.explore("orders", urn=ORDERS)
    assert first.wait(WAIT_SECONDS)
    hear(first, "tab", tab="columns")
    hear(first, "tick", urn=str(first.results[0]), on=True)
    hear(first, "edit")
    type_(first, "a draft of mine")
    chosen, kept, before = first.chosen, [weakref.ref(first)], threading.active_count()
    del first
    for _ in range(10):
        explorer = cat.explore()
        kept.append(weakref.ref(explorer))
        assert explorer.wait(WAIT_SECONDS)
    gc.collect()
    assert [one() for one in kept if one() is not None] == [explorer]
    assert threads() == []
    assert threading.active_count() <= before
    assert (explorer.selected, explorer.find["text"]) == (ORDERS, "orders")
    assert (explorer.tab["tab"], explorer.chosen) == ("columns", chosen)
    assert explorer.page["drafts"] == [None]
    hear(explorer, "edit")
    assert explorer.typed["text"] == "a draft of mine"
    other = cat.explore("customers")
    assert other.wait(WAIT_SECONDS)
    assert (other.find["text"], other.selected) == ("customers", "")
    hear(other, "open", urn=ORDERS)
    assert other.page["drafts"] == [None]
    other.close()


def test_a_draft_on_its_way_when_the_cell_runs_again_is_not_stuck(cat: Catalog) -> None:
    old = Explorer(cat, urn=ORDERS)
    assert old.wait(WAIT_SECONDS)
    hear(old, "edit")
    type_(old, "on its way")
    writing = old._session.writing
    with old._session.lock:
        assert writing.draft is not None
        writing._keep(writing.draft.at("saving"))
    new = Explorer(cat, instead_of=old)
    try:
        assert new.wait(WAIT_SECONDS)
        hear(new, "edit")
        assert (new.editor["stage"], new.typed["text"]) == ("writing", "on its way")
    finally:
        new.close()


def test_cells_of_their_own_have_explorers_of_their_own(cat: Catalog, in_cell: Any) -> None:
    in_cell("one")
    one = cat.explore("orders")
    in_cell("two")
    two = cat.explore()
    assert one.wait(WAIT_SECONDS)
    assert two.wait(WAIT_SECONDS)
    assert (one.find["text"], two.find["text"]) == ("orders", "")
    for explorer in (one, two):
        explorer.close()


def test_closing_hangs_up_and_nothing_is_read_afterwards(cat: Catalog) -> None:
    explorer = Explorer(cat, "orders")
    explorer.close()
    assert explorer.wait(WAIT_SECONDS)
    assert threads() == []
    before = dict(explorer.find)
    hear(explorer, "search", text="customers", filter="")
    assert explorer.find == before
    assert cat.exists(ORDERS)


def test_from_other_threads_at_once_the_last_question_is_answered(cat: Catalog) -> None:
    explorer = Explorer(cat)
    words = ["orders", "customers", "revenue", "payments"]

    def press(word: Any) -> None:
        for end in range(1, len(word) + 1):
            message = {"kind": "search", "text": word[:end], "filter": ""}
            explorer._handle_custom_msg(message, [])
            explorer._handle_custom_msg({"kind": "open", "urn": ORDERS}, [])
            explorer._handle_custom_msg({"kind": "tab", "tab": "columns"}, [])

    presses = [threading.Thread(target=press, args=(word,)) for word in words]
    for one in presses:
        one.start()
    for one in presses:
        one.join()
    try:
        hear(explorer, "search", text="fct_orders", filter="")
        assert explorer.find["hits"][0]["name"] == "fct_orders"
        assert explorer.entity is not None
        assert explorer.entity.name == "fct_orders"
        assert not explorer.problem
        assert threads() == []
    finally:
        explorer.close()


def test_a_saved_notebook_keeps_what_was_found_and_open(cat: Catalog, page: Any) -> None:
    explorer = Explorer(cat, "fct_orders", urn=ORDERS)
    try:
        data, _ = explorer._repr_mimebundle_()
        assert "application/vnd.jupyter.widget-view+json" in data
        kept = page(data["text/html"])
        assert kept.wrong == kept.open == []
        assert "run this cell again" in kept.text
        assert "fct_orders" in data["text/plain"]
        assert "Orders, one row an order" in kept.text.replace("\n", "")
    finally:
        explorer.close()


def test_it_needs_no_answer_to_show_itself() -> None:
    with Catalog("http://127.0.0.1:9", timeout_seconds=1) as catalog:
        explorer = Explorer(catalog, "orders")
        try:
            assert explorer.wait(WAIT_SECONDS)
            assert "127.0.0.1:9" in explorer.problem
            data, _ = explorer._repr_mimebundle_()
            assert "nothing read yet" in data["text/plain"]
            assert list(explorer.results) == []
            assert len(explorer.df) == 0
        finally:
            explorer.close()


def test_what_a_server_did_not_answer_is_said_and_asked_again_when_it_is_back(
    sample_at: SampleAt, tmp_path: Path
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (
        sample_at(tmp_path / "catalog") as directory,
        Catalog(f"http://127.0.0.1:{port}", retry=Retry(tries=1)) as catalog,
    ):
        explorer = Explorer(catalog, "orders", urn=ORDERS)
        assert explorer.wait(WAIT_SECONDS)
        assert explorer.problem
        assert (explorer.find["unanswered"], explorer.find["text"]) == (True, "orders")
        assert folders(explorer) == []
        with serving_catalog(directory, port=port):
            hear(explorer, "again")
            assert not explorer.problem
            assert (explorer.find["unanswered"], explorer.find["hits"][0]["name"]) == (
                False,
                "orders",
            )
            assert folders(explorer)[0] == "datasets"
            assert explorer.entity is not None
            assert explorer.entity.name == "fct_orders"
        # What was found before stays, but is not taken for an answer to what is asked now.
        hear(explorer, "search", text="customers", filter="")
        assert explorer.find["unanswered"]
        assert explorer.find["hits"][0]["name"] == "orders"
        with serving_catalog(directory, port=port):
            hear(explorer, "search", text="dim_customers", filter="")
            assert not explorer.find["unanswered"]
            assert explorer.find["hits"][0]["name"] == "dim_customers"
        explorer.close()


def test_folders_that_were_not_read_are_read_with_the_next_search(
    sample_at: SampleAt, tmp_path: Path
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (
        sample_at(tmp_path / "catalog") as directory,
        Catalog(f"http://127.0.0.1:{port}", retry=Retry(tries=1)) as catalog,
    ):
        explorer = Explorer(catalog)
        assert explorer.wait(WAIT_SECONDS)
        with serving_catalog(directory, port=port):
            hear(explorer, "search", text="orders", filter="")
            assert folders(explorer)[0] == "datasets"
        explorer.close()


def test_the_labels_of_columns_have_their_names(cat: Catalog) -> None:
    explorer = Explorer(cat, urn=ORDERS)
    assert explorer.wait(WAIT_SECONDS)
    hear(explorer, "tab", tab="columns", text="net_amount")
    assert explorer.tab["columns"][0]["labels"] == ["Net revenue"]
    explorer.close()


def test_hostile_texts_are_told_as_text(cat: Catalog) -> None:
    urn = Urn.dataset("hive", "explorer.hostile")
    cat.ingest(Proposal(urn, "datasetProperties", {"name": PAYLOAD, "description": PAYLOAD}))
    cat.describe(urn, PAYLOAD)
    explorer = Explorer(cat, "explorer.hostile", urn=urn)
    try:
        assert explorer.wait(WAIT_SECONDS)
        told = [dict(explorer.find), dict(explorer.page), dict(explorer.tab), list(explorer.tree)]
        hear(explorer, "edit")
        told.append(list(explorer.preview))
        said = json.dumps(told, ensure_ascii=False)
        assert "window.__xss" in html.unescape(said)
        assert not [one for one in "\x1b\u202e" if one in said]
        assert not [one for one in addresses(told) if not one.startswith("https://evil.example/")]
    finally:
        explorer.close()


def addresses(told: Any) -> Any:
    """The addresses of all that leads out of the page."""
    if isinstance(told, dict):
        return [one for value in told.values() for one in addresses(value)]
    if not isinstance(told, list):
        return []
    here = [told[1]] if len(told) == 3 and told[0] == "a" and told[1] else []
    return [*here, *(one for value in told for one in addresses(value))]


def test_no_token_is_in_what_it_tells(cat: Catalog) -> None:
    with Catalog(cat.address, token="very-secret-token") as catalog:
        explorer = Explorer(catalog, "orders", urn=ORDERS)
        try:
            assert explorer.wait(WAIT_SECONDS)
            data, _ = explorer._repr_mimebundle_()
            state = {name: getattr(explorer, name) for name in SYNCED}
            assert "very-secret-token" not in json.dumps([state, data, repr(explorer)])
        finally:
            explorer.close()
