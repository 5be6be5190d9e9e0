"""The two commands of a cell do what the objects do, and tell errors in a sentence."""

from itertools import count
from typing import Any

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from explorer import Catalog
from explorer.client.editable import TextConflict
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.notebook.entity import EntityPage
from explorer.notebook.search import SearchResults
from tests.conftest import schema_of

NUMBERS = count()


@pytest.fixture
def shell(cat: Catalog) -> Any:
    made: Any = InteractiveShell()
    made.extension_manager.load_extension("explorer.notebook")
    made.user_ns["cat"] = cat
    return made


@pytest.fixture
def table(cat: Catalog) -> Any:
    """A table of its own, whose name is unique, with a column."""
    urn = Urn.dataset("hive", f"magic.t{next(NUMBERS)}")
    field = {
        "fieldPath": "a",
        "nativeDataType": "int",
        "type": {"type": {"com.linkedin.schema.NumberType": {}}},
        "description": "From the source.",
    }
    columns = schema_of([field])
    cat.ingest(Proposal(urn, "schemaMetadata", columns))
    return urn


def describe(shell: Any, line: Any, text: Any) -> Any:
    return shell.run_cell_magic("describe", line, f"{text}\n")


def test_a_search_takes_text_types_platforms_and_a_filter(shell: Any, cat: Catalog) -> None:
    found = shell.run_line_magic(
        "catalog", "search orders --type dataset --platform snowflake --platform hive --count 3"
    )
    assert isinstance(found, SearchResults)
    assert 0 < len(found) <= 3
    assert {urn.platform for urn in found.urns} <= {"snowflake", "hive"}
    narrowed = shell.run_line_magic(
        "catalog", "search --platform snowflake --filter 'tags:Tier1 OR tags:Tier2'"
    )
    asked = cat.search(filter="platform:snowflake AND (tags:Tier1 OR tags:Tier2)")
    assert narrowed.total == asked.total > 0


def test_other_questions_give_their_objects(shell: Any) -> None:
    assert isinstance(shell.run_line_magic("catalog", "open fct_orders"), EntityPage)
    assert shell.run_line_magic("catalog", "info").product == "catalog"
    assert shell.run_line_magic("catalog", "browse /prod").path == "/prod"
    assert len(shell.run_line_magic("catalog", "names fct_orders")) > 0
    assert "embedded" in list(shell.run_line_magic("catalog", "profile list"))


def test_it_asks_the_catalog_it_was_connected_to(shell: Any, cat: Catalog) -> None:
    del shell.user_ns["cat"]
    connected = shell.run_line_magic("catalog", f"connect {cat.address}")
    assert isinstance(connected, Catalog)
    assert shell.run_line_magic("catalog", "open fct_orders").catalog is connected
    connected.close()


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("", "required"),
        ("serch orders", "^invalid choice"),
        ("search --count many", "invalid int"),
        ("search 'orders", "no closing quotation"),
        ("search --filter 'platform:('", "search --filter|filter|expected|value"),
        ("open nothing_is_called_so", "nothing here is named"),
        ("connect no-such-profile", "no profile named"),
    ],
)
def test_a_mistake_is_told_in_a_sentence_without_a_trace(
    shell: Any, capsys: pytest.CaptureFixture[str], line: str, sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence) as told:
        shell.run_line_magic("catalog", line)
    assert told.value.__cause__ is None
    assert not shell.run_cell(f"%catalog {line}").success
    shown = capsys.readouterr()
    assert "Traceback" not in shown.out + shown.err


def test_a_dry_run_shows_and_writes_nothing(shell: Any, cat: Catalog, table: Any) -> None:
    tried = describe(shell, f"{table} --dry-run", "A *table*.\n\nOf numbers.")
    assert tried.state == "tried"
    assert "not saved: this was a dry run" in repr(tried)
    assert "+A *table*." in repr(tried)
    assert "<em>table</em>" in tried._repr_html_()
    assert not cat.dataset(table).edited_description


def test_a_cell_is_saved_as_it_is_and_again_is_nothing(
    shell: Any, cat: Catalog, table: Any
) -> None:
    text = "A *table*.\n\n  Of numbers."
    assert describe(shell, str(table), text).state == "saved"
    assert cat.dataset(table).edited_description == text
    assert describe(shell, str(table), text).state == "unchanged"
    assert describe(shell, f"{table.name} a", "A number.").state == "saved"
    assert cat.dataset(table).schema["a"].edited == "A number."
    assert describe(shell, f"{table} a --clear", "").state == "saved"
    assert not cat.dataset(table).schema["a"].edited


def test_what_somebody_else_wrote_is_shown_and_kept(
    shell: Any, cat: Catalog, table: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    cat.dataset(table)
    with Catalog(cat.address) as colleague:
        colleague.describe(table, "Theirs.")
    with pytest.raises(UsageError, match="--force saves yours"):
        describe(shell, str(table), "Mine.")
    shown = capsys.readouterr().out
    assert "not saved: somebody else changed it meanwhile" in shown
    assert "+Theirs." in shown
    assert "+Mine." in shown
    assert super(Catalog, cat).entity(table).edited_description == "Theirs."
    assert describe(shell, f"{table} --force", "Mine.").state == "saved"
    assert cat.dataset(table).edited_description == "Mine."


def test_having_read_what_they_wrote_it_may_be_changed(
    shell: Any, cat: Catalog, table: Any
) -> None:
    cat.dataset(table)
    with Catalog(cat.address) as colleague:
        colleague.describe(table, "Theirs.")
    cat.dataset(table)
    assert describe(shell, str(table), "Theirs and mine.").state == "saved"


def test_an_entity_knows_what_it_was_read_with(cat: Catalog, table: Any) -> None:
    before = cat.dataset(table)
    before.describe("Mine.", column="a")

    with pytest.raises(TextConflict):
        before.describe("Again.", column="a")
    assert before.describe("Again.", column="a", force=True).schema["a"].edited == "Again."


@pytest.mark.parametrize(
    ("line", "text", "sentence"),
    [
        ("{} b", "x", "no column named 'b'"),
        ("{}", " ", "the cell is empty"),
        (
            "urn:li:dataset:(urn:li:dataPlatform:hive,nowhere.at.all,PROD)",
            "x",
            "not in this catalog",
        ),
        ("urn:li:dataset:odd", "x", "."),
    ],
)
def test_what_cannot_be_described_says_why(
    shell: Any, table: Any, line: str, text: str, sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        describe(shell, line.format(table), text)


def test_a_read_only_catalog_writes_nothing(cat: Catalog, table: Any) -> None:
    shell: Any = InteractiveShell()
    shell.extension_manager.load_extension("explorer.notebook")
    with Catalog(cat.address, read_only=True) as reading:
        shell.user_ns["cat"] = reading
        with pytest.raises(UsageError):
            describe(shell, str(table), "x")
    assert not cat.dataset(table).edited_description
