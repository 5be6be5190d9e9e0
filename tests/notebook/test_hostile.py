"""Names and descriptions are written by anybody; on a page they are text and nothing else."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from explorer import Catalog
from explorer.errors import CatalogError
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.notebook import magics
from explorer.notebook.catalog import Server
from explorer.notebook.chart import label
from explorer.notebook.magics import ProfilesTable
from explorer.notebook.markup import plain_markdown, safe_markdown
from tests.conftest import nightly, schema_of

PAYLOADS = {
    "script": "<script>window.__xss = 1</script>",
    "image": '<img src=x onerror="window.__xss = 1">',
    "quote": "\"><svg onload='window.__xss = 1'>",
    "comment": "<!-- --><style>*{display:none}</style>",
    "markdown": "[here](javascript:alert(1)) ![beacon](https://evil.example/pixel.png)",
    "escapes": "\x1b]52;c;cm0gLXJm\x07\x1b[31mred\x9b2J",
    "bidi": "safe\u202egnp.exe\u2066\u200b",
    "entities": "&#x202e;gnp &#27;[31mred &lt;script&gt;alert(1)&lt;/script&gt; &NewLine;",
    "schemes": "[a](data:text/html,x) [b](vbscript:x) [c](//evil.example/c) <javascript:x>",
    "pictures": "![a](https://evil.example/a.png) [![b](http://evil.example/b.png)](http://evil.example/b)",
    "unclosed": "</td></table></div></svg>]]> <!-- `` ``` \n\n```\n<plaintext>",
}
PLACES = ("https://docs.example/", "https://evil.example/", "http://evil.example/")
DRAWN = {"svg", "defs", "marker", "path", "g", "title", "rect", "text"}
# The one style that a picture has: its colours on a dark page.
DARK_STYLE = re.compile(
    r"@media \(prefers-color-scheme:dark\)\{\.catalog-chart\{fill:#\w+;color:#\w+\}"
    r"\.catalog-chart>path:first-of-type\{fill:#\w+\}\}"
)
CONTROLS = "\x00\x07\x1b\x7f\x9b\u202e\u2066\u200b"


def is_harmless(drawn: Any) -> bool:
    """Whether an element of a picture is one that pictures are made of."""
    name = drawn.tag.rpartition("}")[2]
    return name in DRAWN or (name == "style" and bool(DARK_STYLE.fullmatch(drawn.text)))


# Of each way out of a text one; the others belong to the nightly circle.
ALWAYS = ("bidi", "markdown", "quote")


@pytest.fixture(scope="module", params=[*ALWAYS, *nightly(*sorted(PAYLOADS.keys() - set(ALWAYS)))])
def bad(request: pytest.FixtureRequest) -> Any:
    return PAYLOADS[request.param]


@pytest.fixture(scope="module")
def entity(cat: Catalog, bad: Any) -> Any:
    """A dataset in which every text that can be hostile is."""
    urn = Urn.dataset("hive", f"hostile.{sorted(PAYLOADS).index(_name_of(bad))}")
    stamp = {"time": 0, "actor": "urn:li:corpuser:eve"}
    eve = Urn.parse("urn:li:corpuser:eve")
    text_type: dict[str, Any] = {"type": {"com.linkedin.schema.StringType": {}}}
    field = {"nativeDataType": bad, "type": text_type}
    eve_table, below = (Urn.dataset("hive", f"{urn.name}.{end}") for end in ("above", "below"))
    for target, aspect, value in (
        (urn, "datasetProperties", {"name": "before", "description": "before"}),
        (eve, "corpUserInfo", {"active": True, "displayName": bad}),
        (urn, "datasetProperties", {"name": bad, "description": bad}),
        (urn, "editableDatasetProperties", {"description": f"edited {bad}"}),
        (
            urn,
            "ownership",
            {"owners": [{"owner": str(eve), "type": "NONE"}], "lastModified": stamp},
        ),
        (urn, "upstreamLineage", {"upstreams": [upstream(eve_table, stamp)]}),
        (eve_table, "datasetProperties", {"name": f"{bad} table", "description": bad}),
        (below, "datasetProperties", {"name": f"{bad} below"}),
        (below, "upstreamLineage", {"upstreams": [upstream(urn, stamp)]}),
        (
            below,
            "ownership",
            {"owners": [{"owner": str(eve), "type": "NONE"}], "lastModified": stamp},
        ),
        (urn, "browsePaths", {"paths": [f"/hostile/{bad.replace('/', ' ')}"]}),
        (urn, "deprecation", {"deprecated": True, "note": bad, "actor": str(eve)}),
        (urn, "subTypes", {"typeNames": [bad]}),
        (urn, "institutionalMemory", {"elements": [link(bad, bad, stamp), *links(stamp)]}),
        (
            urn,
            "schemaMetadata",
            schema_of([{"fieldPath": "column", "description": bad, **field}], name=bad),
        ),
        (urn, "datasetUsageStatistics", {"timestampMillis": 1, "totalSqlQueries": 2, **used(bad)}),
        (urn, "datasetProfile", measured(1, bad, nullProportion=0.5, min=bad, sampleValues=[bad])),
        (
            urn,
            "datasetProfile",
            measured(
                2,
                bad,
                nullProportion=0.1,
                uniqueCount=1,
                distinctValueFrequencies=[{"value": bad, "frequency": 3}],
                quantiles=[{"quantile": bad, "value": bad}, {"quantile": bad, "value": "1"}],
                histogram={"boundaries": [bad, f"{bad} "], "heights": [2.0]},
            ),
        ),
    ):
        cat.ingest(Proposal(target, aspect, value))
    return cat.dataset(urn)


def test_no_repr_lets_a_catalogs_text_be_more_than_text(
    cat: Catalog, entity: Any, bad: Any, read: Any
) -> None:
    found = cat.search("hostile", entity="dataset", count=3 * len(PAYLOADS))
    assert entity.urn in found.urns
    lineage = entity.lineage()
    assert len(lineage) == 2
    shown = {
        "entity": entity,
        "schema": entity.schema,
        "filtered": entity.schema.filter("column"),
        "owners": entity.owners,
        "links": entity.links,
        "relationships": entity.relationships(),
        "usage": entity.usage(days=None),
        "profile": entity.profile(days=None),
        "results": found,
        "lineage": lineage,
        "impact": entity.impact(),
        "paths": entity.paths_to(lineage.urns[-1]),
        "history": entity.history("datasetProperties"),
        "diff": entity.diff(aspect="datasetProperties"),
        "folder": cat.browse("/hostile"),
        "names": cat.names("hostile", entity="dataset"),
        "question": cat.search(bad.replace('"', " "), entity="dataset", count=1),
        "described": magics.Described(entity.urn, bad, bad, "conflict", bad, f"{bad}\n+", "b"),
        "saved": magics.Described(entity.urn, bad, None, "saved", "", bad),
        "column": entity.schema["column"],
        "owner": cat.entity("urn:li:corpuser:eve"),
        "all": found.all(),
        "next": cat.search("hostile", count=1).next(),
        "upstream": entity.lineage(1, "UPSTREAM"),
        "server": Server(bad, "catalog", bad),
        "profiles": ProfilesTable(((bad, bad, True, True),)),
    }
    shown["opened"] = shown["folder"][next(iter(shown["folder"])).name]
    for name, one in shown.items():
        page = read(one)
        assert all(link.startswith(PLACES) for link in page.links), name
        pictured = [drawn for picture in page.pictures for drawn in picture.iter()]
        for drawn in pictured:
            assert is_harmless(drawn)
            assert not [key for key in drawn.attrib if "href" in key or key.startswith("on")]
        for text in (repr(one), page.text, *(drawn.text or "" for drawn in pictured)):
            assert not set(text) & set(CONTROLS), name
    # It is there all the same, as the text it is.
    visible = "".join(char for char in bad if char not in CONTROLS)
    first = visible.split("\x1b")[0].splitlines()[0]
    assert first in repr(entity)
    names = [one.text for one in read(lineage).pictures[0].iter() if one.text]
    assert any(name.startswith((first[:10], "…")) for name in names)


def test_no_chart_lets_a_catalogs_text_be_more_than_text(entity: Any, bad: Any, read: Any) -> None:
    usage, profile = entity.usage(days=None), entity.profile(days=None)
    shown = {
        "usage": usage,
        "over time": usage.over_time(),
        "by column": usage.by_column(),
        "profile": profile,
        "sizes": profile.sizes(),
        "nulls": profile.nulls(bad),
        "unique": profile.unique(),
        "values": profile.values(bad),
        "quantiles": profile.quantiles(bad),
        "histogram": profile.histogram(bad),
        "drift": profile.drift(),
    }
    for name, one in shown.items():
        page = read(one)
        assert not page.links, name
        pictured = [drawn for picture in page.pictures for drawn in picture.iter()]
        for drawn in pictured:
            assert is_harmless(drawn)
            assert not [key for key in drawn.attrib if "href" in key or key.startswith("on")]
        bundle = one._repr_mimebundle_()
        told = list(strings(bundle["application/vnd.plotly.v1+json"]))
        for text in told:
            assert "<" not in text.replace("<br>", "").replace("<extra></extra>", ""), name
        for text in (bundle["text/plain"], page.text, *told, *(one.text or "" for one in pictured)):
            assert not set(text) & set(CONTROLS), name
    for name in ("by column", "nulls", "values", "quantiles", "drift"):
        assert "nothing" not in repr(shown[name]), name
        assert not shown[name].chart().is_empty, name


def test_errors_hold_no_more_than_text(cat: Catalog, entity: Any, bad: Any) -> None:
    asked: tuple[Callable[[], Any], ...] = (
        lambda: cat[f"{bad} nowhere"],
        lambda: entity.schema[f"{bad} nowhere"],
        lambda: entity.profile(days=None).values(f"{bad} nowhere"),
        lambda: cat.browse("/hostile")[f"{bad} nowhere"],
        lambda: entity.history(bad),
        lambda: entity.lineage(direction=bad),
        lambda: cat.dataset(bad),
    )
    for ask in asked:
        with pytest.raises(CatalogError) as caught:
            ask()
        assert not set(str(caught.value)) & set(CONTROLS)


def test_completion_offers_nothing_that_is_more_than_text(cat: Catalog, entity: Any) -> None:
    offered = cat._ipython_key_completions_()
    assert str(entity.urn) in offered
    assert not [key for key in offered if set(key) & set(CONTROLS)]


@pytest.mark.parametrize("name", sorted(PAYLOADS))
def test_markdown_gives_no_more_than_what_reads(name: Any, page: Any) -> None:
    drawn = page(safe_markdown(PAYLOADS[name]))
    assert drawn.wrong == []
    assert drawn.pictures == []
    assert all(link.startswith(PLACES) for link in drawn.links)
    assert not set(drawn.text) & set(CONTROLS)


def test_what_an_object_brings_of_html_besides_sets_no_formula_either(
    cat: Catalog, entity: Any
) -> None:
    widgets = (entity.lineage(hops=1).widget(), cat.explore(urn=entity.urn))
    bundles = [entity.usage(days=None)._repr_mimebundle_()]
    for widget in widgets:
        assert widget.wait(120)
        bundles.append(widget._repr_mimebundle_()[0])
        widget.close()
    for bundle in bundles:
        assert bundle["text/html"].startswith('<div class="mathjax_ignore tex2jax_ignore"')


def test_the_words_of_markdown_are_one_line_without_its_marks() -> None:
    text = "# Head\n\nOne **b** [d](https://docs.example/) `c`\nnext\n\n- e\n- f\n\n![g](h.png) <b>"
    assert plain_markdown(text, 100) == "Head One b d c next e f image: g <b>"
    assert plain_markdown("&#x202e;gnp \u202e *x*", 100) == "gnp x"
    assert plain_markdown("**" + "x" * 50, 10) == "**xxxxxxxx…"
    assert plain_markdown("", 10) == ""


def test_markdown_is_read_and_links_tell_nobody(page: Any) -> None:
    text = "# Head\n\n**b** `c` [d](https://docs.example/)\n\n|a|\n|-|\n|1|\n\n```\nx < 1\n```"
    html = safe_markdown(text)
    drawn = page(html)
    assert drawn.wrong == []
    inside = '<code style="background:transparent;color:inherit;padding:0">x &lt; 1'
    for piece in (">Head</h4>", "<strong>b</strong>", "<table", inside):
        assert piece in html
    assert drawn.links == ["https://docs.example/"]
    assert 'rel="noopener noreferrer"' in html
    assert 'target="_blank"' in html
    assert safe_markdown("![a chart](https://docs.example/c.png)").count("image: a chart") == 1
    assert safe_markdown(None) == safe_markdown(" ") == ""
    assert "more characters" in safe_markdown("x" * 30_000)


def test_only_addresses_that_lead_to_pages_and_mail_are_links(entity: Any, read: Any) -> None:
    assert read(entity.links).links == ["https://docs.example/a?b=c&d=%22"]


def test_figures_hold_no_markup_of_a_catalogs(entity: Any, bad: Any) -> None:
    for figure in (entity.usage(days=None).figure(), entity.profile(days=None).figure()):
        texts = [figure.layout.title.text, *(trace.name for trace in figure.data)]
        for text in texts:
            assert "<" not in text
            assert not set(text) & set(CONTROLS)


def test_a_label_in_a_figure_is_short() -> None:
    assert len(label("x" * 500)) < 60
    assert label("a & <b>") == "a &amp; &lt;b&gt;"


def test_what_is_sent_back_is_what_was_read(entity: Any, bad: Any) -> None:
    assert entity.ingested_description == bad
    assert entity.schema.columns[0].ingested == bad
    assert entity.schema.to_frame()["ingested"].iloc[0] == bad


def link(url: Any, description: Any, stamp: Any) -> Any:
    return {"url": url, "description": description, "createStamp": stamp}


def links(stamp: Any) -> Any:
    return [
        link("javascript:alert(1)", "run me", stamp),
        link("data:text/html,<script>alert(1)</script>", "open me", stamp),
        link("JaVaScRiPt:alert(1)", "", stamp),
        link("https://docs.example/a?b=c&d=%22", "the documentation", stamp),
    ]


def upstream(urn: Any, stamp: Any) -> Any:
    return {"dataset": str(urn), "type": "TRANSFORMED", "auditStamp": stamp}


def measured(millis: Any, path: Any, **told: Any) -> Any:
    columns = [{"fieldPath": path, **told}, {"fieldPath": f"{path} {millis}"}]
    return {"timestampMillis": millis, "rowCount": millis, "fieldProfiles": columns}


def strings(value: Any) -> Iterator[Any]:
    """Every text in a value of JSON, keys among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from strings([*value, *value.values()])
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)


def used(path: Any) -> Any:
    return {"fieldCounts": [{"fieldPath": path, "count": 2}]}


def _name_of(payload: Any) -> Any:
    return next(name for name, text in PAYLOADS.items() if text == payload)
