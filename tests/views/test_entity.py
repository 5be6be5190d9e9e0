"""What is stored of an entity is told in words, whatever its type and whatever its shape."""

from typing import Any

import pytest

from explorer.client.entity import AspectRead, Entity
from explorer.client.records import Health
from explorer.metadata import Urn
from explorer.tui.content import Times
from explorer.tui.screens.entity import head_mentions as in_the_head
from explorer.tui.screens.entity import head_text
from explorer.tui.screens.overview import RENDERED, PageLayout, lay_out
from explorer.views.absence import LOADING, REFUSED
from explorer.views.entity import entity_parts, entity_report, folder_facts
from explorer.views.parts import fact_text, mentions_of

JDOE = Urn.parse("urn:li:corpuser:jdoe")
ORDERS = Urn.dataset("hive", "shop.orders")
CHART = Urn.parse("urn:li:chart:(looker,1)")
STAMP = {"time": 1_700_000_000_000, "actor": str(JDOE)}


def an_entity(urn: Any, **aspects: Any) -> Any:
    read = {name: AspectRead(name, 0, value, STAMP) for name, value in aspects.items()}
    return Entity(Urn.parse(urn), read)


def lines_of(entity: Any, width: int = 100, names: Any = None, **how: Any) -> Any:
    times = Times()
    times.utc = True
    return lay_out(entity_parts(entity), PageLayout(width, names or {}, times, **how))


def page_of(entity: Any, **how: Any) -> Any:
    return "\n".join(line.text.plain.rstrip() for line in lines_of(entity, **how))


def targets_of(entity: Any) -> Any:
    return [line.target for line in lines_of(entity) if line.target is not None]


# One of each type that the specification tells of, with every field that it names.
TOLD: dict[str, tuple[dict[str, Any], Any]] = {
    "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)": (
        {
            "datasetKey": {"name": "shop.orders", "platform": "urn:li:dataPlatform:hive"},
            "dataPlatformInstance": {
                "platform": "urn:li:dataPlatform:hive",
                "instance": "urn:li:dataPlatformInstance:(urn:li:dataPlatform:hive,eu)",
            },
            "browsePaths": {"paths": ["/prod/hive/shop", "/by-team/orders"]},
            "ownership": {"owners": [{"owner": str(JDOE), "type": "DATAOWNER"}]},
            "institutionalMemory": {
                "elements": [
                    {"url": "https://a.example/w", "description": "Wiki", "createStamp": STAMP}
                ]
            },
            "schemaMetadata": {
                "schemaName": "orders",
                "hash": "abc",
                "version": 3,
                "lastModified": STAMP,
                "fields": [{"fieldPath": "id"}],
                "platformSchema": {"com.vendor.schema.KafkaSchema": {"documentSchema": '{"a":1}'}},
            },
            "editableSchemaMetadata": {"editableSchemaFieldInfo": [], "lastModified": STAMP},
            "globalTags": {"tags": [{"tag": "urn:li:tag:PII"}]},
            "upstreamLineage": {
                "upstreams": [{"dataset": str(ORDERS), "type": "TRANSFORMED", "auditStamp": STAMP}]
            },
            "status": {"removed": True},
            "viewProperties": {
                "viewLogic": "select 1\nfrom t",
                "materialized": False,
                "viewLanguage": "SQL",
            },
            "siblings": {"siblings": [str(ORDERS)], "primary": True},
            "structuredProperties": {
                "properties": [
                    {
                        "propertyUrn": "urn:li:structuredProperty:io.retention",
                        "values": [{"double": 30.0}],
                    }
                ]
            },
        },
        [
            *("soft-deleted", "prod / hive / shop", "by-team / orders", "data owner", "↗ Wiki"),
            *("https://a.example/w", "added 2023-11-14 22:13 UTC by jdoe", "PII", "transformed"),
            *("version", "abc", '"a"', "Columns, as edited", "select 1", "from t", "materialized"),
            *("Siblings", "primary", "retention", "30.0", "eu"),
        ],
    ),
    "urn:li:corpuser:jdoe": (
        {
            "corpUserInfo": {
                "active": True,
                "displayName": "Jordan Doe",
                "email": "j@x.example",
                "title": "Steward",
                "managerUrn": "urn:li:corpuser:boss",
            },
            "corpUserEditableInfo": {"aboutMe": "I count.", "skills": ["SQL", "dbt"]},
        },
        ["j@x.example", "Steward", "manager", "boss", "I count.", "SQL", "dbt", "active"],
    ),
    "urn:li:corpGroup:orders": (
        {
            "corpGroupInfo": {
                "email": "o@x.example",
                "admins": [str(JDOE)],
                "members": [str(JDOE), "urn:li:corpuser:mia"],
                "groups": [],
            }
        },
        ["o@x.example", "admins", "members", "mia"],
    ),
    "urn:li:chart:(looker,1)": (
        {
            "chartInfo": {
                "title": "Revenue",
                "description": "By day",
                "type": "LINE",
                "inputs": [{"string": str(ORDERS)}],
                "inputEdges": [{"destinationUrn": str(ORDERS)}],
                "chartUrl": "https://looker.example/1",
                "lastModified": {"created": STAMP, "lastModified": STAMP},
            },
            "chartQuery": {"rawQuery": "select sum(x)", "type": "SQL"},
        },
        ["By day", "LINE", "made from", "shop.orders", "select sum(x)", "created", "modified"],
    ),
    "urn:li:dashboard:(looker,1)": (
        {
            "dashboardInfo": {
                "title": "All",
                "charts": [str(CHART)],
                "dashboardUrl": "https://l.x/2",
            }
        },
        ["charts", "looker,1", "https://l.x/2"],
    ),
    "urn:li:tag:PII": (
        {"tagProperties": {"name": "PII", "description": "About people"}},
        ["About"],
    ),
    "urn:li:glossaryTerm:Net": (
        {
            "glossaryTermInfo": {
                "definition": "Without VAT",
                "termSource": "EXTERNAL",
                "sourceRef": "IFRS",
                "sourceUrl": "https://ifrs.example",
                "customProperties": {"seen": "often"},
            },
            "glossaryRelatedTerms": {"isRelatedTerms": ["urn:li:glossaryTerm:Gross"]},
            "ownership": {"owners": [{"owner": str(JDOE), "type": "NONE"}]},
        },
        ["Definition", "Without VAT", "EXTERNAL", "IFRS", "https://ifrs.example", "Gross", "often"],
    ),
    "urn:li:dataJob:(urn:li:dataFlow:(airflow,f,prod),load)": (
        {
            "dataJobInfo": {
                "name": "load",
                "type": {"string": "PYTHON"},
                "flowUrn": "urn:li:dataFlow:(airflow,f,prod)",
            },
            "dataJobInputOutput": {
                "inputDatasets": [str(ORDERS)],
                "outputDatasets": [],
                "inputDatajobs": ["urn:li:dataJob:(urn:li:dataFlow:(airflow,f,prod),before)"],
            },
        },
        ["PYTHON", "pipeline", "reads", "shop.orders", "after tasks", "before"],
    ),
}


def a_group() -> Any:
    urn = "urn:li:corpGroup:orders"
    return an_entity(urn, **TOLD[urn][0])


@pytest.mark.parametrize("urn", TOLD)
def test_every_aspect_of_a_type_is_told_in_words(urn: Any) -> None:
    aspects, words = TOLD[urn]
    page = page_of(an_entity(urn, **aspects))
    assert [word for word in words if word not in page] == []


def test_what_is_deprecated_says_why_when_and_what_to_take() -> None:
    entity = an_entity(
        ORDERS,
        deprecation={
            "deprecated": True,
            "note": "Use **fct_orders**",
            "decommissionTime": 1_700_000_000_000,
            "actor": str(JDOE),
            "replacement": str(CHART),
        },
    )
    page = page_of(entity)
    for words in ("Deprecated", "Use fct_orders", "2023-11-14 22:13 UTC", "replacement"):
        assert words in page
    assert targets_of(entity)[:2] == [CHART, JDOE]


def test_both_descriptions_are_shown_and_told_apart() -> None:
    entity = an_entity(
        ORDERS,
        datasetProperties={"description": "came in"},
        editableDatasetProperties={"description": "was written", "lastModified": STAMP},
    )
    page = page_of(entity)
    assert page.index("✎ edited") < page.index("was written") < page.index("ingested")
    assert page.index("ingested") < page.index("came in")


def test_aspects_nobody_knows_are_told_by_what_they_hold() -> None:
    entity = an_entity(
        ORDERS,
        zooInfo={
            "keeperName": "Mia",
            "owner": {"urn": str(JDOE)},
            "opened": {"time": 1_700_000_000_000, "actor": str(JDOE)},
            "deep": {"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}},
            "rows": [{"x": 1}, {"x": 2}],
            "none": None,
            "password": "hunter2",
        },
    )
    page = page_of(entity)
    assert "Zoo" in page
    assert "keeper name" in page
    assert "2023-11-14 22:13 UTC by jdoe" in page
    assert "see the aspect as it is stored" in page
    assert "hunter2" not in page
    assert targets_of(entity).count(JDOE) == 2


@pytest.mark.parametrize("shape", [None, [], 7, "text", {"owners": 3}, {"owners": [None, {}]}])
def test_no_shape_of_an_aspect_breaks_the_page(shape: Any) -> None:
    names: tuple[str, ...] = (
        "ownership",
        "globalTags",
        "schemaMetadata",
        "institutionalMemory",
        "deprecation",
    )
    names += ("browsePaths", "dataPlatformInstance", "subTypes", "structuredProperties", "zoo")
    # The wire is the only thing that makes entities, and it checks that aspects are objects.
    value = shape if isinstance(shape, dict) else dict.fromkeys(("owners", "tags", "x"), shape)
    entity = an_entity(ORDERS, **dict.fromkeys(names, value))
    assert "URN" in page_of(entity)
    head = head_text(entity, {}, Times(), named=False, width=80, lines=3)
    assert "shop.orders" in head.plain


def test_members_stand_among_admins_and_members_and_edges_do_not_repeat_them() -> None:
    assert targets_of(a_group()).count(JDOE) == 2
    aspects, _ = TOLD[str(CHART)]
    assert targets_of(an_entity(CHART, **aspects)).count(ORDERS) == 1


def test_hostile_text_stays_text() -> None:
    text = "\x1b]0;owned\x07[@click=app.bell]x[/] \u202egnp.exe"
    entity = an_entity(
        ORDERS,
        datasetProperties={"description": text, "customProperties": {text: text}},
        zoo={text: text, "link": f"https://x.example/{text}"},
    )
    page = page_of(entity, names={JDOE: text})
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "[@click=app.bell]x[/]" in page


def test_a_long_text_is_cut_with_a_mark_and_read_to_its_end_on_demand() -> None:
    text = "word " * 10_000 + "THE END"
    entity = an_entity(ORDERS, datasetProperties={"description": text})
    cut = page_of(entity)
    assert len(cut) < 2 * RENDERED
    assert "w shows all of it" in cut
    whole = page_of(entity, in_full=True)
    assert "THE END" in whole
    assert max(map(len, whole.splitlines())) <= 100


@pytest.mark.parametrize("width", [20, 38, 78, 198])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    for urn, (aspects, _) in TOLD.items():
        entity = an_entity(urn, **aspects)
        assert max(line.text.cell_len for line in lines_of(entity, width=width)) <= width
        for height in (1, 2, 3):
            head = head_text(entity, {}, Times(), named=True, width=width, lines=height)
            lines = head.split("\n")
            assert len(lines) <= height
            assert max(line.cell_len for line in lines) <= width


def test_the_head_says_its_state_first_where_there_is_one_line() -> None:
    entity = an_entity(
        ORDERS, status={"removed": True}, deprecation={"deprecated": True, "note": "old"}
    )
    one = head_text(entity, {}, Times(), named=False, width=60, lines=1).plain
    assert one.startswith("DELETED DEPRECATED shop.orders")
    three = head_text(entity, {}, Times(), named=False, width=100, lines=3).plain
    assert "SOFT-DELETED" in three
    assert "DEPRECATED" in three
    assert "old" in three


def test_the_head_names_the_replacement_of_what_is_deprecated() -> None:
    deprecation = {"deprecated": True, "note": "Counts twice.", "replacement": str(ORDERS)}
    entity = an_entity(Urn.dataset("hive", "old"), deprecation=deprecation)
    head = head_text(entity, {}, Times(), named=False, width=100, lines=3).plain
    assert " use shop.orders instead · Counts twice." in head
    assert ORDERS in in_the_head(entity)


def test_the_head_tells_what_is_not_in_the_catalog() -> None:
    ghost = head_text(Entity(ORDERS, {}), {}, Times(), named=True, width=80, lines=3).plain
    assert "Not in the catalog; only referenced by others." in ghost
    like = Urn.dataset("hive", "SHOP.orders")
    head = head_text(Entity(like, {}), {}, Times(), named=True, width=80, lines=3, spelling=ORDERS)
    assert "only referenced by others. Did you mean shop.orders?" in head.plain


def test_long_lists_in_the_head_end_in_how_many_more() -> None:
    owners = [{"owner": f"urn:li:corpuser:person{n}", "type": "DATAOWNER"} for n in range(40)]
    tags = [{"tag": f"urn:li:tag:tag{n}"} for n in range(30)]
    paths = [f"/prod/folder{n}" for n in range(5)]
    entity = an_entity(
        ORDERS,
        ownership={"owners": owners},
        globalTags={"tags": tags},
        browsePaths={"paths": paths},
    )
    head = head_text(entity, {}, Times(), named=False, width=78, lines=3).plain
    assert "person0" in head
    assert " +3" in head
    assert "prod / folder0 +4" in head
    page = page_of(entity)
    assert all(f"person{n}" in page for n in range(40))
    assert all(f"folder{n}" in page for n in range(5))


def test_every_way_on_is_named() -> None:
    urns = list(dict.fromkeys(mentions_of(entity_parts(a_group()))))
    assert [urn.name for urn in urns] == ["jdoe", "mia"]
    assert "Jordan Doe" in page_of(a_group(), names={JDOE: "Jordan Doe"})


def test_ml_is_no_word_of_two_letters() -> None:
    table = Urn.parse("urn:li:mlFeatureTable:(urn:li:dataPlatform:feast,visits)")
    page = page_of(an_entity(table, mlFeatureTableProperties={"mlFeatures": ["first"]}))
    assert "ML feature table\n" in page
    assert "ML features  first" in page


@pytest.mark.parametrize(
    ("urn", "aspect", "field"),
    [
        ("urn:li:glossaryTerm:Churned", "glossaryTermInfo", "definition"),
        ("urn:li:tag:PII", "tagProperties", "description"),
        ("urn:li:domain:sales", "domainProperties", "description"),
    ],
)
def test_a_text_that_people_and_sources_write_alike_is_not_said_to_be_ingested(
    urn: str, aspect: str, field: str
) -> None:
    entity = an_entity(urn, **{aspect: {"name": "x", field: "Left for good."}})
    printed = "\n".join(map(repr, entity_report(entity, {}).parts or ()))
    for page in (page_of(entity), printed):
        assert "Left for good." in page
        assert "ingest" not in page
    assert "ingested" in page_of(an_entity(ORDERS, datasetProperties={"description": "As it came"}))


def test_a_folder_that_stands_for_a_container_has_its_name() -> None:
    container = Urn.parse("urn:li:container:0f3a6bdc33cc039093a897623d6723")
    path = [{"id": "prod"}, {"id": str(container), "urn": str(container)}]
    entity = an_entity(ORDERS, browsePathsV2={"path": path})
    assert container in mentions_of(entity_parts(entity))
    assert "prod / marts" in page_of(entity, names={container: "marts"})
    (fact,) = folder_facts(entity)
    assert fact_text(fact, {container: "marts"}) == "prod / marts"


def test_the_head_tells_that_the_health_could_not_be_read_from_being_sound() -> None:
    entity = an_entity(ORDERS, datasetProperties={"name": "orders"})
    heads = [
        head_text(entity, {}, Times(), named=False, width=80, lines=3, health=health).plain
        for health in (LOADING, REFUSED, Health(ORDERS))
    ]
    assert ["Health could not be read" in head for head in heads] == [False, True, False]


def test_a_label_that_does_not_exist_looks_so_and_a_tag_has_its_colour() -> None:
    tags = [Urn.parse(f"urn:li:tag:{name}") for name in ("Gone", "Dark", "Light", "Odd")]
    colours = (None, "#101010", "#F0F0F0", "red; [link]")
    names = {
        tag: an_entity(tag, tagProperties={"name": tag.name, "colorHex": colour})
        for tag, colour in zip(tags, colours, strict=True)
    } | {tags[0]: Entity(tags[0], {}), JDOE: Entity(JDOE, {})}
    entity = an_entity(
        ORDERS,
        globalTags={"tags": [{"tag": str(tag)} for tag in tags]},
        ownership={"owners": [{"owner": str(JDOE), "type": "DATAOWNER"}]},
    )
    head = head_text(entity, names, Times(), named=False, width=100, lines=3)
    assert "Gone (gone)" in head.plain
    assert "jdoe (gone)" not in head.plain
    styles = {head.plain[span.start : span.end]: str(span.style) for span in head.spans}
    assert styles["Dark"] == "bold #ffffff on #101010"
    assert styles["Light"] == "bold #000000 on #F0F0F0"
    assert styles["Odd"] == "bold"
