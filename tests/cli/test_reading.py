"""Searching, showing and describing, as people see it and as scripts read it."""

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from explorer.client import AsyncCatalog
from explorer.errors import Busy
from tests.cli.conftest import Run

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
EVENTS = "urn:li:dataset:(urn:li:dataPlatform:kafka,shop.events,PROD)"
NOWHERE = "urn:li:dataset:(urn:li:dataPlatform:hive,no.where,PROD)"


def test_a_search_is_a_table_that_says_how_many_there_are(shop: Run) -> None:
    ran = shop("search", "shop", "--entity", "dataset", "--count", "2")
    assert ran.code == 0
    header, *rows = ran.out.splitlines()
    assert header.split() == ["name", "type", "platform", "matched"]
    assert [row.startswith("  ") for row in rows] == [False, True, False, True]
    assert max(map(len, ran.out.splitlines())) <= 80
    assert not any(line.endswith(" ") for line in ran.out.splitlines())
    assert "2 of 3 shown; --start 2 shows the next ones" in ran.err


def test_where_there_is_room_a_hit_is_one_line(shop: Run) -> None:
    ran = shop("search", "surrogate", "--entity", "dataset", COLUMNS="120")
    assert ran.out.split()[:5] == ["name", "type", "platform", "description", "matched"]
    (row,) = [line for line in ran.out.splitlines() if line.startswith("orders")]
    assert "hive" in row
    assert "One row an order." in row
    assert "Late arrivals" not in ran.out
    assert "field" in row


def test_json_of_a_budget_says_what_is_left_and_goes_on(shop: Run) -> None:
    command = ("schema", ORDERS, "--json", "--budget", "400")
    ran = shop(*command)
    columns = ran.json["columns"]
    while "left" in ran.json:
        assert len(ran.out.encode()) <= 400 * 3 + 1
        assert ran.json["left"]["how"] == "the same command with --cursor CURSOR"
        ran = shop(*command, "--cursor", ran.json["left"]["cursor"])
        columns += ran.json["columns"]
    whole = shop("schema", ORDERS, "--json").json["columns"]
    assert [column["path"] for column in columns] == [column["path"] for column in whole]
    assert shop("schema", ORDERS, "--budget", "400").code == 2
    assert "a budget is from" in shop("schema", ORDERS, "--json", "--budget", "4").err
    assert shop("search", "--json", "--budget", "900").json["hits"]


def test_a_search_for_scripts_is_json_or_urns(shop: Run) -> None:
    found = shop("search", "orders", "--entity", "dataset", "--json").json
    (hit,) = [hit for hit in found["hits"] if hit["urn"] == ORDERS]
    assert found["total"] >= len(found["hits"]) >= 1
    assert (hit["name"], hit["type"], hit["platform"]) == ("orders", "dataset", "hive")
    assert hit["description"].startswith("One row an order.\nLate")
    assert hit["matched"][0].keys() == {"field", "value", "weight"}
    assert hit["reason"] == "a name is what was typed"
    assert hit["score"] > 10
    assert found["facets"]["platform"]["urn:li:dataPlatform:hive"] >= 1
    urns = shop("search", "orders", "--entity", "dataset", "--urns").out.splitlines()
    assert urns == [hit["urn"] for hit in found["hits"]]


@pytest.mark.parametrize("shown_as", ["--json", "--csv", "--why", "--count=9"])
def test_what_is_found_while_the_database_is_away_is_shown_by_its_urns(
    shop: Run, monkeypatch: pytest.MonkeyPatch, shown_as: str
) -> None:
    search = AsyncCatalog.search

    async def search_earlier(*arguments: Any, **options: Any) -> Any:
        return replace(await search(*arguments, **options), as_of=as_of)

    async def fail(*_: Any) -> Any:
        raise Busy("the database is away")

    monkeypatch.setattr(AsyncCatalog, "search", search_earlier)
    monkeypatch.setattr(AsyncCatalog, "summaries", fail)
    as_of: datetime | None = datetime.now(UTC)
    ran = shop("search", "orders", shown_as)
    assert ran.code == 0, ran
    assert "shop.orders" in ran.out
    assert "Names and descriptions cannot be read now" in ran.err
    as_of = None
    assert shop("search", "orders", shown_as).code == 3


def test_conditions_mean_the_same_in_the_text_and_in_a_filter(shop: Run) -> None:
    for condition in (
        "tags:(PII, GDPR)",
        "tags IS NULL",
        "name=~ORDERS",
        "platform:hive OR tags:PII",
        "lastModified<2031-01-01",
    ):
        in_filter = shop("search", "--filter", condition, "--urns", "--count", "500")
        in_text = shop("search", condition, "--urns", "--count", "500")
        assert (in_text.code, in_text.out) == (0, in_filter.out), condition
        both = shop("search", f"orders {condition}", "--urns")
        assert both.out == shop("search", "orders", "--filter", condition, "--urns").out
    wrong = shop("search", "rows>many")
    assert wrong.code == 1
    assert "many" in wrong.err


def test_a_search_says_why_each_was_found(shop: Run) -> None:
    ran = shop("search", "orders", "--entity", "dataset", "--why", "--count", "1")
    first, reason, *fields = ran.out.splitlines()
    assert first.split()[:2] == ["1", "orders"]
    assert "score 1" in first
    assert reason.strip() == "a name is what was typed"
    assert "id: shop.orders  weight 10" in [one.strip() for one in fields]


def test_filters_narrow_by_bare_names_and_leave_out(shop: Run) -> None:
    def urns(*filters: Any) -> Any:
        words = [word for text in filters for word in ("--filter", text)]
        return set(shop("search", "shop", "--entity", "dataset", "--urns", *words).out.split())

    assert urns("platform=kafka") == {EVENTS}
    assert urns("tags:Finance", "owners:mara") == {ORDERS} == urns("tags:Finance owners:mara")
    assert urns("platform:(kafka, hive)") > {EVENTS, ORDERS}
    assert urns("platform:kafka or platform:hive") == urns("platform:(kafka, hive)")
    assert urns("platform:kafka", "platform:hive") == set()
    assert EVENTS not in urns("platform!=kafka")
    several = "name:*rde* urn:*orders* -removed:true type:dataset (tags:* or tags IS NULL)"
    assert ORDERS in urns(several, "createdAt<2100-01-01 or not createdAt:*", "name=~ORDERS")


def test_what_is_wrong_in_a_filter_is_pointed_at(shop: Run) -> None:
    ran = shop("search", "--filter", "tags:PII", "--filter", "tags:PII and platfrom:hive")
    assert (ran.code, ran.out) == (1, "")
    sentence, text, carets = ran.err.splitlines()
    assert sentence.startswith("error: ")
    assert "platform" in sentence
    assert text == "tags:PII and platfrom:hive"
    assert carets == " " * 13 + "^" * 8
    wrong = shop("search", "--sort", "name, -nmae").err
    assert wrong.splitlines()[1:] == ["name, -nmae", " " * 7 + "^^^^"]


def test_a_result_can_be_put_in_order(shop: Run) -> None:
    def urns(*words: Any) -> Any:
        return shop(
            "search", "--entity", "dataset", "--urns", "--count", "1000", *words
        ).out.split()

    rising = urns("--sort", "urn")
    assert len(rising) > 2
    assert rising == sorted(rising)
    assert urns("--sort", "-urn") == rising[::-1]


def test_nothing_found_is_said_and_is_no_error(shop: Run) -> None:
    ran = shop("search", "zyxwvutsrq")
    assert (ran.code, ran.out) == (0, "")
    assert "nothing found for zyxwvutsrq" in ran.err


def test_a_slip_is_corrected_and_said_on_standard_error(shop: Run) -> None:
    ran = shop("search", "surogate", "--entity", "dataset", "--urns")
    assert ran.out.split() == [ORDERS]
    assert "no match for surogate; showing results for surrogate" in ran.err
    told = shop("search", "surogate", "--json").json
    assert (told["text"], told["corrected"]) == ("surogate", "surrogate")
    assert shop("search", "surrogate", "--json").json["corrected"] is None


def test_people_states_and_use_narrow_and_order(shop: Run) -> None:
    def urns(*words: Any) -> Any:
        return shop("search", "--entity", "dataset", "--urns", *words).out.split()

    assert urns("shop", "--filter", 'owner:"mara lind"') == [ORDERS]
    assert urns("shop", 'owner:"lind"') == [ORDERS]
    assert ORDERS in urns("shop", "--filter", "is:documented")
    assert ORDERS not in urns("shop", "--filter", "is:undocumented")
    assert ORDERS not in urns("shop", "is:undocumented")
    assert sorted(urns("shop", "--sort", "-use, urn")) == sorted(urns("shop"))
    assert "the states are documented" in shop("search", "--filter", "is:good").err


def test_an_entity_is_a_page_with_owners_texts_columns_and_links(shop: Run) -> None:
    ran = shop("get", ORDERS)
    assert ran.code == 0
    lines = [line.rstrip() for line in ran.out.splitlines()]
    assert lines[0] == "orders"
    assert "dataset · hive · PROD" in lines
    assert ORDERS in lines
    assert "owners  Mara Lind (data owner)" in lines
    assert "tags    Finance" in lines
    assert "  Late arrivals are added for three days." in lines
    (heading,) = [line for line in lines if line.startswith("Schema")]
    assert "5 columns, 2 documented" in heading
    (zip_code,) = [line for line in lines if line.lstrip().startswith("zip")]
    assert zip_code.startswith("    zip")
    assert zip_code.split(maxsplit=2)[1:] == ["string", "Postal code."]
    assert any("key" in line and "order_id" in line for line in lines)
    assert "How orders arrive · https://example.com/orders · by etl" in lines
    assert max(map(len, lines)) <= 80


def test_columns_with_types_in_their_paths_are_a_tree_too(shop: Run) -> None:
    lines = shop("get", EVENTS).out.splitlines()
    assert any(line.startswith("payload ") and "record" in line for line in lines)
    assert any(line.startswith("  kind ") and "string" in line for line in lines)


def test_raw_aspects_are_json_as_stored(shop: Run) -> None:
    whole = shop("get", ORDERS, "--json").json
    assert whole["urn"] == ORDERS
    assert whole["entityName"] == "dataset"
    assert {"datasetKey", "schemaMetadata", "ownership"} <= set(whole["aspects"])
    one = shop("get", ORDERS, "--aspect", "globalTags", "--json").json["aspects"]
    assert list(one) == ["globalTags"]
    assert one["globalTags"]["value"] == {"tags": [{"tag": "urn:li:tag:Finance"}]}
    assert one["globalTags"]["version"] == 0


def test_an_aspect_for_people_says_version_and_value(shop: Run) -> None:
    ran = shop("get", ORDERS, "--aspect", "globalTags")
    assert ran.out.startswith("globalTags · latest version")
    assert '"tag": "urn:li:tag:Finance"' in ran.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["get", NOWHERE], NOWHERE),
        (["get", "ordrs"], "nothing here is named 'ordrs'"),
        (["get", ORDERS, "--aspect", "shoeSize"], "shoeSize"),
        (["get", ORDERS, "--aspect", "ownership", "--version", "99"], "99"),
        (["describe", NOWHERE, "--text", "x"], NOWHERE),
        (["describe", ORDERS, "--column", "zip", "--text", "x"], "shipping.address.zip"),
        (["describe", ORDERS, "--text", "-"], "standard input"),
        (["search", "orders", "--entity", "datset"], "datset"),
    ],
)
def test_what_cannot_be_done_is_exit_1_and_one_line(shop: Run, arguments: Any, words: Any) -> None:
    ran = shop(*arguments)
    assert ran.code == 1
    assert ran.out == ""
    (line,) = ran.err.splitlines()
    assert line.startswith("error: ")
    assert words in line


def test_a_description_is_written_from_an_option_and_marked(shop: Run) -> None:
    urn = fresh(shop, "option")
    ran = shop("describe", urn, "--text", "Written *here*.")
    assert ran.code == 0
    assert ran.out == ""
    assert "Described" in ran.err
    page = shop("get", urn).out
    assert "✎ edited" in page
    assert "Written *here*." in page
    assert "from ingestion" in page
    assert "First text." in page


def test_a_description_from_standard_input_is_kept_but_for_its_last_line_end(shop: Run) -> None:
    urn = fresh(shop, "stdin")
    text = "# Title\n\n\ttabs, ünïcode, \\ and “quotes”\n\n"
    assert shop("describe", urn, "--text", "-", stdin=text.encode()).code == 0
    got = shop("get", urn, "--json").json["aspects"]["editableDatasetProperties"]
    assert got["value"]["description"] == text.removesuffix("\n")


def test_a_column_is_described_by_its_plain_path_where_that_is_unmistakable(shop: Run) -> None:
    ran = shop("describe", EVENTS, "--column", "payload.kind", "--text", "What happened.", "--json")
    path = "[version=2.0].[type=struct].[type=struct].payload.[type=string].kind"
    assert ran.json["column"] == path
    got = shop("get", EVENTS, "--json").json["aspects"]["editableSchemaMetadata"]["value"]
    (entry,) = got["editableSchemaFieldInfo"]
    assert (entry["fieldPath"], entry["description"]) == (path, "What happened.")
    (row,) = [line for line in shop("get", EVENTS).out.splitlines() if "What happened." in line]
    assert "✎ What happened." in row


def test_an_empty_text_takes_a_description_back(shop: Run) -> None:
    urn = fresh(shop, "taken_back")
    shop("describe", urn, "--text", "For a while.")
    assert shop("describe", urn, "--text", "").code == 0
    page = shop("get", urn).out
    assert "For a while." not in page
    assert "First text." in page


def test_an_empty_input_takes_nothing_back(shop: Run) -> None:
    urn = fresh(shop, "kept")
    shop("describe", urn, "--text", "To stay.")
    assert shop("describe", urn, "--text", "-", stdin=b"\n").code == 1
    assert "To stay." in shop("get", urn).out


def fresh(shop: Run, name: Any) -> Any:
    import json

    urn = f"urn:li:dataset:(urn:li:dataPlatform:hive,described.{name},PROD)"
    value = {"json": {"name": name, "description": "First text."}}
    change = {"entityUrn": urn, "aspectName": "datasetProperties", "aspect": value}
    assert shop("load", "-", stdin=json.dumps([change]).encode()).code == 0
    return urn


def test_what_stands_on_standard_input_is_not_taken_for_a_description_unasked(shop: Run) -> None:
    ran = shop("describe", ORDERS, stdin=b"the next line of somebody's loop\n")
    assert ran.code == 0
    assert "somebody" not in shop("get", ORDERS).out


def test_a_search_may_name_several_types_and_be_csv(shop: Run) -> None:
    def types(*words: Any) -> Any:
        found = shop("search", "--count", "1000", "--json", *words).json
        return {hit["type"] for hit in found["hits"]}

    assert types("--entity", "dataset") == {"dataset"}
    assert types("--entity", "dataset", "--entity", "tag") == {"dataset", "tag"}
    ran = shop("search", "surrogate", "--entity", "dataset", "--csv")
    assert "\r\n" in ran.out
    header, *rows = csv.reader(io.StringIO(ran.out))
    found = [dict(zip(header, row, strict=True)) for row in rows]
    (orders,) = [row for row in found if row["urn"] == ORDERS]
    assert header[0] == "urn"
    assert (orders["name"], orders["platform"], orders["edited"]) == ("orders", "hive", "false")
    assert orders["description"].startswith("One row an order.\nLate")
    assert "shown" in ran.err


def test_a_result_has_one_form(shop: Run) -> None:
    ran = shop("search", "shop", "--json", "--urns")
    assert (ran.code, ran.out) == (2, "")
    assert "--json and --urns cannot be combined" in ran.err


def test_columns_are_listed_with_their_tables(shop: Run) -> None:
    found = shop("search", "--columns", "surrogate", "--json").json
    (hit,) = found["hits"]
    assert (hit["table"], hit["path"], hit["type"]) == (ORDERS, hit["name"], "schemaField")
    assert hit["urn"] == f"urn:li:schemaField:({ORDERS},{hit['path']})"
    assert hit["native_type"]
    assert found["tables"] == {"read": 1, "total": 1}
    assert not found["facets"]
    ran = shop("search", "--columns", "surrogate", COLUMNS="120")
    header, row = ran.out.splitlines()
    titles = ["name", "platform", "table", "native", "type", "description", "matched"]
    assert header.split() == titles
    assert row.split()[:3] == [hit["name"], "hive", "shop.orders"]
    assert shop("search", "--columns", "surrogate", "--urns").out.strip() == hit["urn"]
    (column,) = shop("schema", hit["urn"], "--json").json["columns"]
    assert column["path"] == hit["path"]
    why = shop("search", "--columns", "surrogate", "--why").out
    assert "column of shop.orders" in why
    assert "surrogate in its description, tags or terms" in why
    for wrong in (("--sort", "name"), ("--entity", "chart")):
        assert shop("search", "--columns", "surrogate", *wrong).code == 1


def test_a_result_says_by_which_columns_it_was_found(shop: Run) -> None:
    (hit,) = shop("search", "surrogate", "--entity", "dataset", "--json").json["hits"]
    (match,) = hit["matched"]
    assert match["field"] in ("fieldDescriptions", "editedFieldDescriptions")
    row = shop("search", "surrogate", "--entity", "dataset", COLUMNS="160").out
    assert f"{match['field']}: {match['column']}" in row
