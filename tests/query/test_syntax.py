"""Filters as text: what is read, how it is written, what is refused and where."""

from typing import Any

import pytest

from explorer.errors import InvalidInput
from explorer.metadata.registry import load_registry
from explorer.query import FilterSyntax, read_filter, write_filter
from explorer.query.fields import USE
from explorer.query.filters import Criterion, Filter, all_of
from explorer.server.search.fields import Vocabulary

REGISTRY = load_registry()
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
PII, FINANCE = "urn:li:tag:PII", "urn:li:tag:Finance"
JDOE = ("urn:li:corpGroup:jdoe", "urn:li:corpuser:jdoe")


def read(text: Any, *, strict: bool = True) -> Any:
    return read_filter(text, REGISTRY, strict=strict)


def one(text: Any) -> Any:
    ((criterion,),) = read(text).any_of
    return criterion


def refused(text: Any) -> Any:
    with pytest.raises(FilterSyntax) as caught:
        read(text)
    return caught.value


# Each text, what it means, and how it is written back.
TERMS = [
    ("name:orders", Criterion("name", ("orders",)), "name:orders"),
    ("name=orders", Criterion("name", ("orders",)), "name:orders"),
    ("name : orders", Criterion("name", ("orders",)), "name:orders"),
    ("name!=x", Criterion("name", ("x",), "EQUAL", True), "NOT name:x"),
    ("-name:x", Criterion("name", ("x",), "EQUAL", True), "NOT name:x"),
    ("not NOT name:x", Criterion("name", ("x",)), "name:x"),
    ("name:(a, b)", Criterion("name", ("a", "b")), "name:(a, b)"),
    ("name:(a OR b)", Criterion("name", ("a", "b")), "name:(a, b)"),
    ("name:ord*", Criterion("name", ("ord",), "START_WITH"), "name:ord*"),
    ("name:*ers", Criterion("name", ("ers",), "END_WITH"), "name:*ers"),
    ("name:*rde*", Criterion("name", ("rde",), "CONTAIN"), "name:*rde*"),
    ('name:*"a b"*', Criterion("name", ("a b",), "CONTAIN"), 'name:*"a b"*'),
    ("name!=ord*", Criterion("name", ("ord",), "START_WITH", True), "NOT name:ord*"),
    ("name=~Orders", Criterion("name", ("Orders",), "IEQUAL"), "name=~Orders"),
    ("name!~Orders", Criterion("name", ("Orders",), "IEQUAL", True), "NOT name=~Orders"),
    ("tags:*", Criterion("tags", (), "EXISTS"), "tags:*"),
    ("NOT tags:*", Criterion("tags", (), "EXISTS", True), "NOT tags:*"),
    ("tags IS NULL", Criterion("tags", (), "IS_NULL"), "tags IS NULL"),
    ("tags is not null", Criterion("tags", (), "IS_NULL", True), "tags IS NOT NULL"),
    ("is:undocumented", Criterion("documented", ("false",)), "documented:false"),
    ("NOT is:owned", Criterion("owners", (), "EXISTS", True), "NOT owners:*"),
    ("use>5", Criterion(USE, ("5",), "GREATER_THAN"), "use>5"),
    ("tags IN (PII, Finance)", Criterion("tags", (PII, FINANCE), "IN"), "tags IN (PII, Finance)"),
    ("tags not in (PII)", Criterion("tags", (PII,), "IN", True), "tags NOT IN (PII)"),
    ("rowCount>1000", Criterion("rowCount", ("1000",), "GREATER_THAN"), "rowCount>1000"),
    (
        "rows >= 1e3",
        Criterion("rowCount", ("1e3",), "GREATER_THAN_OR_EQUAL_TO"),
        "rowCount>=1e3",
    ),
    ("rows:<5", Criterion("rowCount", ("5",), "LESS_THAN"), "rowCount<5"),
    ("rows<=-5", Criterion("rowCount", ("-5",), "LESS_THAN_OR_EQUAL_TO"), "rowCount<=-5"),
    ("rows:10..20", Criterion("rowCount", ("10", "20"), "BETWEEN"), "rowCount:10..20"),
    ("rows:[10 TO 20]", Criterion("rowCount", ("10", "20"), "BETWEEN"), "rowCount:10..20"),
    ("rows:10..*", Criterion("rowCount", ("10",), "GREATER_THAN_OR_EQUAL_TO"), "rowCount>=10"),
    ("rows:[* TO 9]", Criterion("rowCount", ("9",), "LESS_THAN_OR_EQUAL_TO"), "rowCount<=9"),
    ("tags:PII", Criterion("tags", (PII,)), "tags:PII"),
    ("tag:PII", Criterion("tags", (PII,)), "tags:PII"),
    ("Tags:PII", Criterion("tags", (PII,)), "tags:PII"),
    ('tags:"My tag"', Criterion("tags", ("urn:li:tag:My tag",)), 'tags:"My tag"'),
    ("tags:'PII'", Criterion("tags", ("PII",)), "tags:'PII'"),
    ("tags:urn:li:tag:PII", Criterion("tags", (PII,)), "tags:PII"),
    ("owner:jdoe", Criterion("owners", JDOE), "owners:jdoe"),
    ("owners:urn:li:corpuser:x", Criterion("owners", ("urn:li:corpuser:x",)), None),
    ("platform:hive", Criterion("platform", ("urn:li:dataPlatform:hive",)), "platform:hive"),
    ("term:A.B", Criterion("glossaryTerms", ("urn:li:glossaryTerm:A.B",)), "glossaryTerms:A.B"),
    ("domain:shop", Criterion("domains", ("urn:li:domain:shop",)), "domains:shop"),
    (
        "domain:Finance/*",
        Criterion("domains", ("urn:li:domain:Finance",), "DESCENDANTS_INCL"),
        "domains:Finance/*",
    ),
    (
        'domain!=("Human Resources"/*, a/b/*)',
        Criterion(
            "domains",
            ("urn:li:domain:Human Resources", "urn:li:domain:a/b"),
            "DESCENDANTS_INCL",
            True,
        ),
        'NOT domains:("Human Resources"/*, a/b/*)',
    ),
    (
        "term:Orders/*",
        Criterion("glossaryTerms", ("urn:li:glossaryNode:Orders",), "DESCENDANTS_INCL"),
        "glossaryTerms:Orders/*",
    ),
    (
        "container:'urn:li:container:x'/*",
        Criterion("container", ("urn:li:container:x",), "DESCENDANTS_INCL"),
        "container:x/*",
    ),
    (
        'domain:"Finance/"*',
        Criterion("domains", ("Finance/",), "START_WITH"),
        'domains:"Finance/"*',
    ),
    ("name:a/*", Criterion("name", ("a/",), "START_WITH"), 'name:"a/"*'),
    ("column:id", Criterion("fieldPaths", ("id",)), "fieldPaths:id"),
    ("type:dataset", Criterion("_entityType", ("dataset",)), "_entityType:dataset"),
    ("entityType:CORP_USER", Criterion("_entityType", ("CORP_USER",)), "_entityType:CORP_USER"),
    ("type:DATASET", Criterion("type", ("DATASET",)), "type:DATASET"),
    ("type:people", Criterion("_entityType", ("corpuser",)), "_entityType:corpuser"),
    ("entity:Person", Criterion("_entityType", ("corpuser",)), "_entityType:corpuser"),
    ("type:datasets", Criterion("_entityType", ("dataset",)), "_entityType:dataset"),
    ("type:view", Criterion("typeNames", ("view",)), "typeNames:view"),
    ("type:(Table OR View)", Criterion("typeNames", ("Table", "View")), None),
    ('"type":view', Criterion("type", ("view",)), '"type":view'),
    ("type:line", Criterion("type", ("line",)), "type:line"),
    (
        '_entityType IN (pipeline, "glossary terms")',
        Criterion("_entityType", ("dataFlow", "glossaryTerm"), "IN"),
        "_entityType IN (dataFlow, glossaryTerm)",
    ),
    ('urn:"li:tag:x"', Criterion("urn", ("li:tag:x",)), 'urn:"li:tag:x"'),
    ("type:TABLE", Criterion("type", ("TABLE",)), "type:TABLE"),
    ('"type":dataset', Criterion("type", ("dataset",)), '"type":dataset'),
    ("removed:yes", Criterion("removed", ("true",)), "removed:true"),
    ("hasOwners:FALSE", Criterion("hasOwners", ("false",)), "hasOwners:false"),
    ("platform.keyword:hive", Criterion("platform.keyword", ("urn:li:dataPlatform:hive",)), None),
    (f"urn:{ORDERS}", Criterion("urn", (ORDERS,)), f"urn:{ORDERS}"),
    (ORDERS, Criterion("urn", (ORDERS,)), f"urn:{ORDERS}"),
    (f"upstreams:({ORDERS}, x)", Criterion("upstreams", (ORDERS, "x")), None),
    ('name:""', Criterion("name", ("",)), 'name:""'),
    (r'name:"a \"b\" \\ c"', Criterion("name", (r'a "b" \ c',)), None),
    ('name:"a*b"', Criterion("name", ("a*b",)), 'name:"a*b"'),
    ('name:"AND"', Criterion("name", ("AND",)), 'name:"AND"'),
    ("name:'a b'", Criterion("name", ("a b",)), 'name:"a b"'),
    (r'name:"a\u{202e}b"', Criterion("name", ("a\u202eb",)), None),
    ("name:O'Brien", Criterion("name", ("O'Brien",)), None),
    ("name:👩‍🌾", Criterion("name", ("👩‍🌾",)), None),
    ("customProperties:team=a:b", Criterion("customProperties", ("team=a:b",)), None),
    (
        "fieldPaths:[version=2.0].[type=string].id",
        Criterion("fieldPaths", ("[version=2.0].[type=string].id",)),
        "fieldPaths:[version=2.0].[type=string].id",
    ),
]


@pytest.mark.parametrize(("text", "meant", "written"), TERMS, ids=[term[0] for term in TERMS])
def test_a_term_means_one_criterion_and_is_written_in_one_way(
    text: Any, meant: Any, written: Any
) -> None:
    assert one(text) == meant
    back = write_filter(all_of(meant), REGISTRY)
    assert one(back) == meant
    assert written is None or back == written


MOMENTS = [
    ("createdAt>=2026-01-02", "GREATER_THAN_OR_EQUAL_TO", (1767312000000,)),
    ("createdAt<2026-01-02", "LESS_THAN", (1767312000000,)),
    ("createdAt>2026-01-01", "GREATER_THAN", (1767311999999,)),
    ("createdAt<=2026-01-01", "LESS_THAN_OR_EQUAL_TO", (1767311999999,)),
    ("createdAt:2026-01-01..2026-01-02", "BETWEEN", (1767225600000, 1767398399999)),
    ("createdAt:2026-01-01T02:00:00.123Z", "EQUAL", (1767232800123,)),
]


@pytest.mark.parametrize(("text", "condition", "millis"), MOMENTS)
def test_dates_become_milliseconds_and_are_written_as_dates(
    text: Any, condition: Any, millis: Any
) -> None:
    meant = Criterion("createdAt", tuple(map(str, millis)), condition)
    assert one(text) == meant
    assert write_filter(all_of(meant), REGISTRY) == text


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("created:2026-01-01", "created:2026-01-01..2026-01-01"),
        ("created:2024-02", "created:2024-02-01..2024-02-29"),
        ("created>=2026", "created>=2026-01-01"),
        ("created>2026", "created>2026-12-31"),
        ("created>=2026-01-01T10:00:00+02:00", "created>=2026-01-01T08:00Z"),
        ("created>=1767232800123", "created>=2026-01-01T02:00:00.123Z"),
        ("created:9999", "created:9999-01-01..9999-12-31"),
    ],
)
def test_a_day_a_month_and_a_year_are_all_of_their_moments(text: str, same: str) -> None:
    assert read(text) == read(same)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("name:a name:b", "name:a AND name:b"),
        ("name:a and name:b", "name:a AND name:b"),
        ("name:a OR name:b name:c", "name:a OR (name:b AND name:c)"),
        ("name:a (name:b or name:c)", "(name:a name:b) OR (name:a name:c)"),
        ("NOT (name:a name:b)", "NOT name:a OR NOT name:b"),
        ("-(name:a OR tags:*)", "NOT name:a AND NOT tags:*"),
        ("NOT (name:a AND NOT (name:b OR name:c))", "NOT name:a OR name:b OR name:c"),
        ("name:(a*, b, c*)", "name:(a*, c*) OR name:b"),
        ("NOT name:(a*, 1..2)", "NOT name:a* AND NOT name:1..2"),
        ("((name:a))", "name:a"),
        ("  name:a\n\tname:b ", "name:a AND name:b"),
    ],
)
def test_expressions_become_alternatives_of_conjunctions(text: str, same: str) -> None:
    assert read(text) == read(same)


def test_the_example_of_the_documentation() -> None:
    text = "platform:snowflake AND (tags:PII OR owners:jdoe) AND NOT removed:true AND rows>1000"
    platform = Criterion("platform", ("urn:li:dataPlatform:snowflake",))
    kept = Criterion("removed", ("true",), negated=True)
    rows = Criterion("rowCount", ("1000",), "GREATER_THAN")
    tags, owners = Criterion("tags", (PII,)), Criterion("owners", JDOE)
    assert read(text) == Filter(((platform, tags, kept, rows), (platform, owners, kept, rows)))


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_an_empty_text_lets_everything_pass(text: str) -> None:
    assert read(text) == Filter()
    assert write_filter(Filter(), REGISTRY) == ""


WRONG = [
    ("platfrom:hive", 0, 8, "platform"),
    ("name:a AND platfrom:hive", 11, 8, "platform"),
    ("orders", 0, 6, "name:orders"),
    ("name:a orders", 7, 6, "FIELD:VALUE"),
    ("name:", 5, 1, "value is missing"),
    ("name: AND tags:x", 6, 1, "double quotes"),
    ("name:a OR", 9, 1, "missing"),
    ("name:a OR OR name:b", 10, 1, "before this OR"),
    ("AND name:a", 0, 1, "before this AND"),
    ("()", 1, 1, "nothing in these"),
    ("(name:a", 7, 1, "never closed"),
    ("name:a)", 6, 1, "closes nothing"),
    ("tags:(a b)", 8, 1, "comma"),
    ("tags:(a", 7, 1, "comma"),
    ("tags:a,b", 6, 1, "(one, two)"),
    ('name:"a', 5, 1, "never closed"),
    ('name:"a"b', 8, 1, "space"),
    ("name:a*b", 6, 1, "star"),
    ("name:**", 6, 1, "star"),
    ("name=~a*", 6, 2, "star"),
    ('tags:"PII"/*', 5, 7, "nothing below"),
    ("domain>Finance/*", 7, 9, "star"),
    ("rows>1..2", 5, 4, "range"),
    ("name:[a b]", 5, 1, "LOW TO HIGH"),
    ("rows>abc", 5, 3, "numbers"),
    ("created>=soon", 9, 4, "2026-01-31"),
    ("created>=2026-02-30", 9, 10, "2026-01-31"),
    ("removed:maybe", 8, 5, "true or false"),
    ("type:dataset _entityType:datset", 25, 6, "dataset"),
    (r'name:"\u{110000}"', 6, 10, "no character"),
    ("urn:li:dataset:(urn:li:dataPlatform:hive,a b,PROD)", 4, 12, "parenthesis"),
    ("- name:a", 0, 1, "directly before"),
    ("name:=x", 5, 1, "double quotes"),
    ('"":x', 0, 2, "name of a field"),
    ("-" * 51 + "name:a", 50, 1, "turned around"),
    ("name:a " * 150_000, 1_000_000, 1, "at most"),
    ("(" * 51 + "name:a", 50, 1, "nested deeper"),
]


@pytest.mark.parametrize(("text", "position", "length", "words"), WRONG)
def test_what_cannot_be_read_is_told_with_its_place(
    text: Any, position: Any, length: Any, words: Any
) -> None:
    error = refused(text)
    assert (error.position, error.length) == (position, length)
    assert words in str(error)
    assert error.text == text
    assert isinstance(error, InvalidInput)
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("text", "carets"),
    [
        ("name:日本 platfrom:x", " " * 10 + "^" * 8),
        ("name:日 日本:x", " " * 8 + "^^^^"),
        ("name:\x1b[2J\tplatfrom:x", " " * 10 + "^" * 8),
        ("name:e\u0301 b:x", " " * 7 + "^"),
        ("name:a AND", " " * 10 + "^"),
    ],
)
def test_the_pointer_stands_under_the_place_in_cells(text: str, carets: Any) -> None:
    shown, below = refused(text).pointer().split("\n")
    assert below == carets
    assert shown.isprintable()


def test_the_pointer_of_a_long_text_shows_the_place_only() -> None:
    shown, below = (
        refused("name:a " * 1_000 + "platfrom:x " + "name:b " * 1_000).pointer().split("\n")
    )
    at = below.index("^")
    assert shown[at : at + len(below) - at] == "platfrom"
    assert len(shown) < 150


def test_what_needs_too_many_criteria_is_refused_but_what_is_flat_is_not() -> None:
    assert "criteria" in str(refused("(name:a OR name:b) " * 10))
    assert "far too many" in str(refused("(name:a OR name:b) " * 2_000))
    assert len(read("name:a " * 3_000).any_of[0]) == 3_000
    assert len(read("name:(" + "a," * 3_000 + "b)").any_of[0][0].values) == 3_001


def test_unknown_fields_pass_when_they_are_let() -> None:
    foreign = "io.acryl.score:x AND _entityType:thing AND Tags:y"
    ((score, kind, tags),) = read(foreign, strict=False).any_of
    assert score == Criterion("io.acryl.score", ("x",))
    assert kind == Criterion("_entityType", ("thing",))
    assert tags == Criterion("Tags", ("y",))
    for text in foreign.split(" AND ")[:2]:
        refused(text)
    assert one('"io.acryl.score":x') == score
    assert one("_entityType:'thing'") == kind


def test_every_field_that_the_service_takes_is_taken() -> None:
    known = Vocabulary(REGISTRY).known_fields(None)
    assert known
    for name in known | {f"{one}.keyword" for one in known}:
        assert one(f"{name}:*").field == name
        # The one field that nobody could guess is written as people say it.
        typed = "use" if name == USE else name
        assert write_filter(all_of(Criterion(name, (), "EXISTS")), REGISTRY) == f"{typed}:*"


@pytest.mark.parametrize(
    "criterion",
    [
        Criterion("a", ("x",), "BETWEEN"),
        Criterion("a", ("x", "y", "z"), "BETWEEN"),
        Criterion("a", (), "EQUAL"),
        Criterion("", ("x",)),
    ],
)
def test_a_criterion_that_asks_for_nothing_sensible_is_not_written(criterion: Any) -> None:
    with pytest.raises(InvalidInput):
        write_filter(all_of(criterion), REGISTRY)


def test_what_was_typed_for_a_urn_is_kept_as_a_name() -> None:
    assert one("owner:nina").names == ("nina",)
    assert one('owner IN ("Nina Weber", urn:li:corpuser:bob)').names == ("Nina Weber",)
    assert one("owner:'nina'").names == ()
    assert one("domain:Finance/*").names == ("Finance",)
    assert one("name:nina").names == ()
    assert one("owner:nina") == Criterion("owners", one("owner:nina").values)


def test_a_state_that_is_none_is_refused_with_those_that_are() -> None:
    assert "undocumented" in refused("is:broken").message
    assert "undocumented" in refused("is>documented").message
    assert read("is:(owned, removed)").any_of == (
        (Criterion("owners", (), "EXISTS"),),
        (Criterion("removed", ("true",)),),
    )
