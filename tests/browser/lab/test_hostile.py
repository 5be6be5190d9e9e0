"""What anybody may write into a catalog, shown in JupyterLab in every way there is: it stays text.

No script of it runs, nothing outside this machine is asked for, and the page says all there was to
say without an error.
"""

from typing import Any

import pytest

from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn

# The texts that undo what follows them stand last.
MARKUP = (
    "<script>window.__xss = 1</script>"
    '<img src="https://evil.example/x.png" onerror="window.__xss = 1">'
    "\"><svg onload='window.__xss = 1'> ' onmouseover='window.__xss = 1' "
    "<iframe srcdoc='<script>parent.__xss = 1</script>'></iframe>"
    "$\\href{javascript:window.__xss=1}{x}$ {{window.__xss = 1}} ${window.__xss = 1}"
)
LINKS = (
    "$5 to $10 \\(x^2\\) $$y$$ "
    "[here](javascript:window.__xss=1) ![beacon](https://evil.example/pixel.png) "
    "[b](data:text/html,<script>window.__xss=1</script>) [c](//evil.example/c) "
    "[![d](http://evil.example/d.png)](http://evil.example/d) <javascript:window.__xss=1>"
)
BROKEN = (
    "safe\u202egnp.exe\u2066\u200b \x1b]52;c;cm0gLXJm\x07\x1b[31mred\x9b2J "
    "&lt;script&gt;window.__xss=1&lt;/script&gt; &#27;[31m "
    "</td></table></div></svg>]]> <!-- `` ``` \n\n```\n<plaintext><style>*{display:none}</style>"
)
TEXTS = {"markup": MARKUP, "links": LINKS, "broken": BROKEN}
STAMP = {"time": 0, "actor": "urn:li:corpuser:eve"}

SHOW = """
from IPython.display import display
from explorer import Catalog
cat = Catalog()

def shown(urn):
    entity = cat.entity(urn)
    lineage = entity.lineage()
    usage, profile = entity.usage(days=None), entity.profile(days=None)
    yield from (entity, entity.schema, entity.schema.filter("a"), entity.owners, entity.links)
    yield from (entity.relationships(), usage, profile, lineage, entity.impact())
    yield entity.paths_to(lineage.urns[-1])
    yield from (entity.history("datasetProperties"), entity.diff(aspect="datasetProperties"))
    yield from (usage.figure(), profile.figure())
    yield from (entity.schema.to_frame(), usage.to_frame(), lineage.to_frame(), lineage.df)
    yield cat.search(entity.name[:200], count=2)

for urn in {urns}:
    for one in shown(urn):
        display(one)
display(cat.browse("/hostile"), cat.names("hostile"))
"""
MAGICS = (
    "%load_ext explorer.notebook",
    "%catalog search hostile",
    "%catalog open {urn}",
    "%catalog names hostile",
    "%%describe {urn}\n{line}",
)
WIDGETS = (
    "explorer = cat.explore(urn={urn!r})\ndisplay(explorer, cat.entity({urn!r}).lineage().widget())"
)


def link(url: Any, description: Any) -> Any:
    return {"url": url, "description": description, "createStamp": STAMP}


def write(cat: Any, name: Any, text: Any) -> Any:
    """A dataset in which every text that can be hostile is; its URN."""
    urn = Urn.dataset("hive", f"hostile.{name}")
    above, below = (Urn.dataset("hive", f"hostile.{name}.{end}") for end in ("above", "below"))
    eve, tag, term, domain = (
        Urn.parse(f"urn:li:{kind}:hostile-{name}")
        for kind in ("corpuser", "tag", "glossaryTerm", "domain")
    )
    made_from = {"type": "TRANSFORMED", "auditStamp": STAMP}
    kind: dict[str, Any] = {"type": {"com.linkedin.schema.StringType": {}}}
    field = {"nativeDataType": text, "type": kind, "description": text}
    for target, aspect, value in (
        (eve, "corpUserInfo", {"active": True, "displayName": text, "title": text}),
        (tag, "tagProperties", {"name": text, "description": text}),
        (term, "glossaryTermInfo", {"name": text, "definition": text, "termSource": "INTERNAL"}),
        (domain, "domainProperties", {"name": text, "description": text}),
        (above, "datasetProperties", {"name": text, "description": text}),
        (below, "datasetProperties", {"name": text}),
        (below, "upstreamLineage", {"upstreams": [{"dataset": str(urn), **made_from}]}),
        (urn, "upstreamLineage", {"upstreams": [{"dataset": str(above), **made_from}]}),
        (urn, "datasetProperties", {"name": "before", "description": "before"}),
        (urn, "datasetProperties", {"name": text, "description": text, "externalUrl": text}),
        (urn, "editableDatasetProperties", {"description": f"edited {text}"}),
        (urn, "ownership", {"owners": [{"owner": str(eve), "type": "NONE"}]}),
        (urn, "globalTags", {"tags": [{"tag": str(tag)}]}),
        (urn, "glossaryTerms", {"terms": [{"urn": str(term)}], "auditStamp": STAMP}),
        (urn, "domains", {"domains": [str(domain)]}),
        (urn, "browsePaths", {"paths": [f"/hostile/{text.replace('/', ' ')}"]}),
        (urn, "deprecation", {"deprecated": True, "note": text, "actor": str(eve)}),
        (urn, "subTypes", {"typeNames": [text]}),
        (
            urn,
            "institutionalMemory",
            {"elements": [link("javascript:window.__xss=1", text), link(text, text)]},
        ),
        (
            urn,
            "schemaMetadata",
            {
                "schemaName": text,
                "platform": "urn:li:dataPlatform:hive",
                "version": 0,
                "hash": "",
                "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
                "fields": [{"fieldPath": one, **field} for one in ("a", text)],
            },
        ),
        (
            urn,
            "datasetUsageStatistics",
            {
                "timestampMillis": 1,
                "totalSqlQueries": 2,
                "topSqlQueries": [text],
                "fieldCounts": [{"fieldPath": text, "count": 2}],
            },
        ),
        (
            urn,
            "datasetProfile",
            {
                "timestampMillis": 1,
                "rowCount": 1,
                "fieldProfiles": [{"fieldPath": text, "min": text, "sampleValues": [text]}],
            },
        ),
    ):
        cat.ingest(Proposal(target, aspect, value))
    return str(urn)


def unharmed(book: Any) -> None:
    """The page is whole, and nothing but text came of what is in it."""
    page = book.page
    assert page.evaluate("window.__xss") is None
    shown = page.locator(".jp-OutputArea-output")
    assert shown.locator("script[src], iframe, object, embed, [onerror], [onload]").count() == 0
    bad = "a[href^='javascript' i], a[href^='data:' i], img[src^='http'], img[src^='//']"
    assert shown.locator(bad).count() == 0
    assert page.locator(".jp-Notebook").is_visible()
    assert book.problems == []


@pytest.mark.nightly
def test_a_catalogs_text_stays_text_in_every_repr_figure_magic_and_widget(
    open_notebook: Any, expect: Any, cat: Any
) -> None:
    urns = {name: write(cat, name, text) for name, text in TEXTS.items()}
    magics = [
        one.format(urn=urn, line=" ".join(TEXTS[name].split()))
        for name, urn in urns.items()
        for one in MAGICS
    ]
    widgets = [WIDGETS.format(urn=urn) for urn in urns.values()]
    book = open_notebook(SHOW.replace("{urns}", repr([*urns.values()])), *magics, *widgets)
    book.run()
    page = book.page
    page.get_by_role("group", name="Lineage").last.wait_for()
    book.picture("lab-hostile")
    unharmed(book)
    # Formulas are set in frames, which pandas shows, and in nothing of ours.
    formulas = page.locator(".jp-OutputArea-output mjx-container")
    formulas.first.wait_for(state="attached")
    ours = ".jp-OutputArea-output:not(:has(table.dataframe)) mjx-container"
    assert page.locator(ours).count() == 0
    said = page.locator(".jp-OutputArea-output .mathjax_ignore", has_text="$5 to $10")
    assert said.count() > 10

    # Whatever is under a pointer or opens by a click, where the text is that which undoes most.
    widget = page.locator(".catalog-explorer").last
    for name in ("Columns", "Lineage", "Usage", "Profile", "History", "Overview"):
        widget.get_by_role("tab", name=name).click()
        expect(widget.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")
        assert book.value("explorer.wait(20)")
    widget.get_by_role("button", name="Edit description").click()
    widget.get_by_role("textbox", name="Description, markdown").press("End")
    widget.get_by_role("textbox", name="Description, markdown").type(" .")
    widget.get_by_role("button", name="Compare and save").click()
    widget.get_by_role("group", name="What differs").wait_for()
    widget.get_by_role("combobox", name="Search the catalog").fill("hostile")
    drawn = page.locator(".catalog-lineage").last
    drawn.get_by_text("As a list").click()
    drawn.locator("summary[aria-label^=Filter]").click()
    drawn.locator("summary[aria-label^=Filter]").click()
    drawn.get_by_role("button", name="Choose a column to follow").click()
    drawn.get_by_label("Follow a column").wait_for()
    for node in drawn.locator(".cx-node").all():
        node.focus()
    for mark in page.locator(".js-plotly-plot .point").all()[:12]:
        mark.hover(force=True)
    unharmed(book)
