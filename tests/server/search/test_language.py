"""What the query language finds, in memory and on disk."""

from collections.abc import Callable

import pytest

from explorer.server.search import SearchEngine
from explorer.server.search.document import Document
from explorer.server.search.query import FoundPage

Make = Callable[..., Document]
Fill = Callable[..., SearchEngine]
Names = Callable[..., list[str]]
Search = Callable[..., FoundPage]

LONG = f"long_{'x' * 70}_first_second_end"


@pytest.fixture(scope="module")
def shop(filled_once: Fill, dataset: Make) -> SearchEngine:
    return filled_once(
        dataset(
            "db.orders",
            globalTags={"tags": [{"tag": "urn:li:tag:PII"}]},
            ownership={"owners": [{"owner": "urn:li:corpuser:ann"}]},
            datasetProperties={"description": "All the daily orders: one row each."},
        ),
        dataset(
            "db.orders_daily",
            platform="kafka",
            glossaryTerms={"terms": [{"urn": "urn:li:glossaryTerm:Classification.Secret"}]},
            datasetProperties={"customProperties": {"team": "data core"}},
        ),
        dataset(
            "db.fctUsersCreated",
            schemaMetadata={
                "fields": [
                    {"fieldPath": "[version=2.0].[type=struct].[type=string].user_id"},
                    {"fieldPath": "address.zip", "description": "Where the user lives"},
                ]
            },
        ),
        dataset("db.web", editableDatasetProperties={"description": "Visits of users"}),
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("orders", {"db.orders", "db.orders_daily"}),
        ("ORDERS", {"db.orders", "db.orders_daily"}),
        ("ord dai", {"db.orders", "db.orders_daily"}),
        ("ordersdaily", {"db.orders_daily"}),
        ("users created", {"db.fctUsersCreated"}),
        ("fctuserscr", {"db.fctUsersCreated"}),
        ("UsersCreated", {"db.fctUsersCreated"}),
        ("users", {"db.fctUsersCreated", "db.web"}),
        ("rder", set()),
        # A plural finds the singular, and only if it may.
        ("rows", {"db.orders"}),
        ("dailies", {"db.orders", "db.orders_daily"}),
        ("web rows", set()),
        ('"rows"', set()),
        ("description:rows", set()),
        ("db.orders -rows", {"db.orders", "db.orders_daily"}),
        ("*rders", {"db.orders", "db.orders_daily"}),
        ("*rder*", {"db.orders", "db.orders_daily"}),
        ("or*rs", {"db.orders", "db.orders_daily"}),
        ("ord?rs", {"db.orders", "db.orders_daily"}),
        ("ord?s", set()),
        ("d?ily", {"db.orders", "db.orders_daily"}),
        ("*RDERS", {"db.orders", "db.orders_daily"}),
        ("*rders_da*", {"db.orders", "db.orders_daily"}),
        ("or*s_d*y", {"db.orders", "db.orders_daily"}),
        ("*rders_d*k", set()),
        ("*userscr*d", {"db.fctUsersCreated"}),
        ("*sersCr*", {"db.fctUsersCreated"}),
        ("-*rders", {"db.fctUsersCreated", "db.web"}),
        ("orders?", {"db.orders", "db.orders_daily"}),
        ("\\*rder", set()),
        ("name:db.*_daily", {"db.orders_daily"}),
        ("name:d*ord?rs", {"db.orders"}),
        ("/q orders", {"db.orders", "db.orders_daily"}),
        ("/q", {"db.orders", "db.orders_daily", "db.fctUsersCreated", "db.web"}),
        ("/q *", {"db.orders", "db.orders_daily", "db.fctUsersCreated", "db.web"}),
        ("/q tags:PII AND platform:hive", {"db.orders"}),
        ("/q tag:PII", {"db.orders"}),
        ("/q tags:urn\\:li\\:tag\\:PII", {"db.orders"}),
        ('/q tags:"urn:li:tag:PII" OR *visit*', {"db.orders", "db.web"}),
        ("/q orders+daily", {"db.orders", "db.orders_daily"}),
        ("/q (*sers OR wizard) AND NOT visits", {"db.fctUsersCreated"}),
        ("/query", set()),
        ('"daily orders"', {"db.orders"}),
        ('"orders daily"', {"db.orders_daily"}),
        ('"daily ord"', set()),
        ("orders OR visits", {"db.orders", "db.orders_daily", "db.web"}),
        ("orders -daily", set()),
        ("orders NOT platform:kafka", {"db.orders"}),
        ("-orders", {"db.fctUsersCreated", "db.web"}),
        ("(visits OR row) db", {"db.orders", "db.web"}),
        ("tags:PII", {"db.orders"}),
        ("tags:pii", {"db.orders"}),
        ("tags:urn:li:tag:PII", {"db.orders"}),
        ("tags:PI", set()),
        ("tags:(PII OR other)", {"db.orders"}),
        ("owners:ann", {"db.orders"}),
        ("glossaryTerms:Secret", {"db.orders_daily"}),
        ("glossaryTerms:Classification.Secret", {"db.orders_daily"}),
        ("platform:kafka", {"db.orders_daily"}),
        ("name:db.orders", {"db.orders"}),
        ("name:DB.Orders", {"db.orders"}),
        ("name:orders", set()),
        ("name:db.ord*", {"db.orders", "db.orders_daily"}),
        ("name:*daily", {"db.orders_daily"}),
        ("name:*ers*", {"db.orders", "db.orders_daily", "db.fctUsersCreated"}),
        ("description:daily", {"db.orders"}),
        ("description:visits", {"db.web"}),
        ('description:"daily orders"', {"db.orders"}),
        ("description:dail", set()),
        ("fieldPaths:user_id", {"db.fctUsersCreated"}),
        ("fieldPaths:zip", {"db.fctUsersCreated"}),
        ("fieldPaths:address.zip", {"db.fctUsersCreated"}),
        ("fieldPaths:id", set()),
        ('customProperties:"team=data core"', {"db.orders_daily"}),
        ("hasOwners:true", {"db.orders"}),
        ("hasOwners:false orders", {"db.orders_daily"}),
        ("urn:li:tag:PII", {"db.orders"}),
        ("urn:li:dataset:(urn:li:dataPlatform:kafka,db.orders_daily,PROD)", {"db.orders_daily"}),
        ("urn:li:dataset:(urn:li:dataPlatform:kafka", {"db.orders_daily"}),
        ("no:such:field", set()),
        ("db:web", {"db.web"}),
        # A text without a word finds nothing; beside a word, signs are ignored.
        ("💰", set()),
        ("😀 %", set()),
        ('"->"', set()),
        ("-💰", {"db.orders", "db.orders_daily", "db.fctUsersCreated", "db.web"}),
        ("orders 💰 - daily", {"db.orders", "db.orders_daily"}),
        ("orders & daily", {"db.orders", "db.orders_daily"}),
        ("*", {"db.orders", "db.orders_daily", "db.fctUsersCreated", "db.web"}),
        ("", {"db.orders", "db.orders_daily", "db.fctUsersCreated", "db.web"}),
    ],
)
def test_a_query_finds(shop: SearchEngine, names: Names, text: str, found: set[str]) -> None:
    assert set(names(shop, text, types=("dataset",))) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("name:fct*b*a*z", {"fct_b_a_z"}),
        ("name:fct*a*b*z", {"fct_a_b_z"}),
        ("name:FCT*Z*", {"fct_b_a_z", "fct_a_b_z", "fctz"}),
        ("name:de?ta", {"dexta"}),
        ("name:de??ta", {"dexxta"}),
        ("name:de*ta", {"dexta", "dexxta"}),
        ("name:d?*?*ta", {"dexta", "dexxta"}),
        ("name:?????*", {"dexta", "dexxta", "fct_b_a_z", "fct_a_b_z", LONG}),
        ("name:fct*ctz", set()),
        ("name:fct*z", {"fct_b_a_z", "fct_a_b_z", "fctz"}),
        ("name:*t?z", set()),
        ("name:*c??a*", {"fct_a_b_z"}),
        ("name:*ct?b*a?z", {"fct_b_a_z"}),
        # Values longer than what the index has as a whole.
        ("name:long*first*second*end", {LONG}),
        ("name:long*second*first*end", set()),
        ("name:long*en?", set()),
        ("name:lon*end?ng", set()),
        ("name:long*x?first*", {LONG}),
        ("name:long*_?first*", set()),
        ("name:lo*xxx", set()),
        # A pattern too large for the engine.
        ("name:*o???????????*first*d??d", set()),
        ("name:*o???????????*first*d???d", {LONG}),
        ("description:daily*orders*sums", {"fctz"}),
        ("description:daily*sums*orders*", set()),
        ("description:da?ly*->*sums", {"fctz"}),
        ("description:da??ly*", set()),
        # No value has it all, but two values do.
        ("fieldPaths:one*two", set()),
        ("fieldPaths:one*x", {"fctz"}),
    ],
)
def test_wildcards_of_a_value_are_matched_in_order(
    filled: Fill, dataset: Make, names: Names, text: str, found: set[str]
) -> None:
    described = {
        "datasetProperties": {"description": "Daily orders -> their sums"},
        "schemaMetadata": {"fields": [{"fieldPath": "one_x"}, {"fieldPath": "x_two"}]},
    }
    index = filled(
        *(dataset(name) for name in ("fct_b_a_z", "fct_a_b_z", "dexxta", "dexta", LONG)),
        dataset("fctz", **described),
    )
    assert set(names(index, text, types=("dataset",))) == found


def test_where_too_many_values_are_to_be_read_parts_in_any_order_are_found(
    filled: Fill, dataset: Make, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = [
        {"datasetProperties": {"description": text}}
        for text in ("daily orders, refunds, sums", "daily refunds, orders, sums", "daily sums")
    ]
    index = filled(*(dataset(f"t{at}", **one) for at, one in enumerate(described)))
    wanted = "description:daily*orders*refunds*sums"
    assert set(names(index, wanted, types=("dataset",))) == {"t0"}
    monkeypatch.setattr("explorer.server.search.result._MOST_COMPARED", 1)
    index = filled(*(dataset(f"t{at}", **one) for at, one in enumerate(described)))
    assert set(names(index, wanted, types=("dataset",))) == {"t0", "t1"}


def test_only_the_types_asked_for_are_found(
    filled: Fill, dataset: Make, entity: Make, names: Names
) -> None:
    index = filled(dataset("orders"), entity("urn:li:tag:orders"), entity("urn:li:corpuser:orders"))
    assert set(names(index, "orders", types=("tag", "corpuser"))) == {"orders"}
    assert len(names(index, "orders", types=("tag", "corpuser"))) == 2
    assert len(names(index, "orders")) == 3
    assert len(names(index, "orders", types=())) == 3


def test_a_hit_tells_the_values_that_have_what_was_asked_for(
    shop: SearchEngine, search: Search
) -> None:
    def told(text: str) -> dict[str, str]:
        return dict(search(shop, text, types=("dataset",)).hits[0].matched)

    assert told("/q or*rs") == {
        "id": "db.orders",
        "description": "All the daily orders: one row each.",
    }
    assert told("orders row") == {
        "id": "db.orders",
        "description": "All the daily orders: one row each.",
    }
    assert told("rows") == {"description": "All the daily orders: one row each."}
    assert told("zip") == {"fieldPaths": "address.zip"}
    assert told("tags:PII") == {"tags": "urn:li:tag:PII"}
    assert told("pii") == {"tags": "urn:li:tag:PII"}
    assert told("fctuserscreated") == {"id": "db.fctUsersCreated"}
    assert told('"user lives"') == {"fieldDescriptions": "Where the user lives"}
    assert told("*") == {}


def test_what_was_typed_is_told_before_what_it_stands_for(
    filled: Fill, dataset: Make, search: Search
) -> None:
    schema = {"fields": [{"fieldPath": "a", "description": "Of many orders"}]}
    described = {"description": "One order"}
    index = filled(dataset("t", datasetProperties=described, schemaMetadata=schema))
    (hit,) = search(index, "orders").hits
    assert list(hit.matched) == [
        ("fieldDescriptions", "Of many orders"),
        ("description", "One order"),
    ]


def test_a_text_in_another_script_is_found(filled: Fill, dataset: Make, names: Names) -> None:
    described = {"description": "顧客の注文テーブル, commandes par café"}
    index = filled(dataset("t", datasetProperties=described), dataset("u"))
    assert names(index, "注文") == ["t"]
    assert names(index, "cafe") == ["t"]
    assert names(index, "CAFÉ") == ["t"]


@pytest.fixture(scope="module")
def people(filled_once: Fill, dataset: Make, entity: Make) -> SearchEngine:
    def owned(name: str, owner: str, **more: object) -> Document:
        return dataset(name, ownership={"owners": [{"owner": f"urn:li:{owner}"}]}, **more)

    return filled_once(
        owned("one", "corpuser:nw", datasetProperties={"description": "Told."}),
        owned("two", "corpGroup:g1", editableDatasetProperties={"description": "Written."}),
        owned("three", "corpuser:nina", deprecation={"deprecated": True}),
        dataset("four", domains={"domains": ["urn:li:domain:3f6a"]}),
        entity("urn:li:corpuser:nw", corpUserInfo={"displayName": "Nina Weber", "active": True}),
        entity("urn:li:corpGroup:g1", corpGroupInfo={"displayName": "Weber Analytics"}),
        entity("urn:li:domain:3f6a", domainProperties={"name": "Sales"}),
        entity("urn:li:domain:77", domainProperties={"name": "Sales Europe"}),
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("owner:nina", {"one", "three"}),
        ('owner:"Nina Weber"', {"one"}),
        ('owners:"weber nina"', {"one"}),
        ("owners:weber", {"one", "two"}),
        ("owners:web", set()),
        ("owners:web*", {"two"}),
        ("owners:*weber*", {"one", "two"}),
        ("owners:urn:li:corpuser:nina", {"three"}),
        ("domain:sales", {"four"}),
        ("-owner:nina", {"two", "four"}),
        ("is:documented", {"one", "two"}),
        ("is:undocumented", {"three", "four"}),
        ("is:deprecated", {"three"}),
        ("is:unowned", {"four"}),
        ("owner:weber is:documented -is:deprecated", {"one", "two"}),
    ],
)
def test_people_are_found_by_their_names_and_tables_by_their_state(
    people: SearchEngine, names: Names, text: str, found: set[str]
) -> None:
    assert set(names(people, text, types=("dataset",))) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("type:chart", {"bars", "pie"}),
        ("type:corp_group", {"g1"}),
        ("type:(chart OR domain) sales", {"1", "bars"}),
        ("-type:chart -type:domain -type:view", {"g1"}),
        ("type:groups", {"g1"}),
        ("type:Group", {"g1"}),
        ("type:PIE", {"pie"}),
        ("type:view", {"recent"}),
        ("type:View sales", {"recent"}),
        ("type:table", set()),
    ],
)
def test_a_type_in_the_text_is_of_entities_or_a_subtype_unless_it_is_a_value_of_the_field(
    filled: Fill, dataset: Make, entity: Make, names: Names, text: str, found: set[str]
) -> None:
    stamp = {"created": {"time": 0, "actor": "urn:li:corpuser:a"}}
    info = {"description": "", "lastModified": {**stamp, "lastModified": stamp["created"]}}
    index = filled(
        entity("urn:li:chart:(looker,bars)", chartInfo={**info, "title": "Sales", "type": "BAR"}),
        entity("urn:li:chart:(looker,pie)", chartInfo={**info, "title": "Costs", "type": "PIE"}),
        entity("urn:li:domain:1", domainProperties={"name": "Sales"}),
        entity("urn:li:corpGroup:g1", corpGroupInfo={"displayName": "Group"}),
        dataset("recent", subTypes={"typeNames": ["View"]}, datasetProperties={"name": "sales"}),
    )
    assert set(names(index, text)) == found


def test_who_is_renamed_is_found_by_the_new_name_alone(
    people: SearchEngine, entity: Make, names: Names
) -> None:
    people.apply(2, [entity("urn:li:corpuser:nw", corpUserInfo={"displayName": "Nina Berg"})])
    assert names(people, 'owner:"Nina Berg"') == ["one"]
    assert names(people, 'owner:"Nina Weber"') == []


@pytest.mark.parametrize(
    ("text", "corrected"),
    [
        ("custmer", "customer"),
        ("ucstomer", "customer"),
        ("Custommer -orders", "customer -orders"),
        ("custmer adress", "customer address"),
        ("kusotmreadresss", None),
        ("custm", None),
        ("zip99", None),
        ('"custmer"', None),
        ("name:custmer", None),
        ("customer unheardof", None),
        ("customer orders", None),
    ],
)
def test_a_slip_of_the_finger_finds_what_was_meant(
    filled: Fill, dataset: Make, search: Search, text: str, corrected: str | None
) -> None:
    index = filled(dataset("customer_address"), dataset("db.orders"), dataset("customs"))
    page = search(index, text)
    assert page.corrected == corrected
    assert (page.total if page.complete is None else page.complete) == (1 if corrected else 0)


def test_nothing_is_corrected_where_something_matches(
    filled: Fill, dataset: Make, search: Search
) -> None:
    index = filled(dataset("custmer"), dataset("customer"))
    page = search(index, "custmer")
    assert (page.total, page.corrected) == (1, None)
