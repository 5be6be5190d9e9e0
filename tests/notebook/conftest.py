"""The notebook's objects are asked of a real catalog: an embedded one that holds the sample."""

import re
from base64 import b64decode
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from explorer import Catalog
from tests.conftest import SampleAt

ALLOWED = {
    "a": {"href", "target", "rel", "style"},
    "blockquote": {"style"},
    "br": set(),
    "code": {"style"},
    "details": set(),
    "div": {"class", "style", "title"},
    "em": set(),
    "h4": {"style"},
    "h5": {"style"},
    "h6": {"style"},
    "hr": set(),
    "img": {"src", "alt", "style"},
    "li": set(),
    "ol": {"start", "style"},
    "p": {"style"},
    "pre": {"style"},
    "s": set(),
    "span": {"style"},
    "strong": set(),
    "summary": {"style"},
    "table": {"style"},
    "tbody": set(),
    "td": {"style"},
    "th": {"style"},
    "thead": set(),
    "tr": {"style"},
    "ul": {"style"},
    "wbr": set(),
}
VOID = {"br", "hr", "img", "wbr"}
BREAK = "\0"
LABEL_STYLE = re.compile(r"background:#[0-9a-fA-F]{6};color:#(000000|ffffff);[^#]*$")
PICTURE = "data:image/svg+xml;base64,"


class Page(HTMLParser):
    """An HTML output as a browser reads it: its text, its links, and whatever may not be there."""

    def __init__(self, html: Any) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self.links: list[str] = []
        self.styles: list[str] = []
        self.wrong: list[str] = []
        self.open: list[str] = []
        self.pictures: list[ET.Element] = []
        self.feed(html)
        self.close()

    @property
    def text(self) -> Any:
        return "\n".join(self.texts).replace(f"{BREAK}\n", "").replace(BREAK, "")

    def handle_starttag(self, tag: Any, attrs: Any) -> None:
        if tag not in ALLOWED:
            self.wrong.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        # A name that may be broken there is one text.
        if tag == "wbr":
            self.texts[-1] += BREAK
        for name, value in attrs:
            if name not in ALLOWED.get(tag, ()):
                self.wrong.append(f"{tag} {name}={value}")
            if name == "href":
                self.links.append(value)
            if name == "style":
                self.styles.append(value)
            if name == "src":
                self.pictures.append(_drawing(value))

    def handle_endtag(self, tag: Any) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"/{tag}")

    def handle_data(self, data: Any) -> None:
        self.texts.append(data)

    def handle_comment(self, data: Any) -> None:
        self.wrong.append(f"comment {data}")

    def handle_decl(self, decl: Any) -> None:
        self.wrong.append(f"declaration {decl}")


def _drawing(address: Any) -> Any:
    """An SVG picture that stands in the page itself."""
    assert address.startswith(PICTURE)
    return ET.fromstring(b64decode(address.removeprefix(PICTURE)))


@pytest.fixture(scope="session")
def page() -> Any:
    """Reads HTML as a browser does."""
    return Page


@pytest.fixture(scope="session")
def read() -> Any:
    """Reads an object's HTML; fails when it holds anything that does not survive everywhere."""

    def page(shown: Any) -> Any:
        html = shown._repr_html_()
        # Else a notebook makes formulas of what stands between two dollars.
        assert html.startswith('<div class="mathjax_ignore tex2jax_ignore"')
        found = Page(html)
        assert found.wrong == []
        assert found.open == []
        # The colour of a label brings that of its text, for pages of any colour.
        colours = [style for style in found.styles if "#" in style]
        assert all(LABEL_STYLE.match(style) for style in colours)
        assert not [style for style in found.styles if "url(" in style]
        return found

    return page


@pytest.fixture(scope="session")
def cat(sample_at: SampleAt, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    """A catalog of this machine that holds the sample; gone afterwards."""
    with (
        sample_at(tmp_path_factory.mktemp("notebook") / "catalog") as directory,
        Catalog(data_dir=directory) as catalog,
    ):
        yield catalog


@pytest.fixture(scope="module")
def own_cat(sample_at: SampleAt, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    """A catalog as `cat`, for the tests of one module that write into it."""
    with (
        sample_at(tmp_path_factory.mktemp("own") / "catalog") as directory,
        Catalog(data_dir=directory) as catalog,
    ):
        yield catalog


@pytest.fixture(autouse=True)
def _no_drafts_of_other_tests(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What one test leaves unsaved is no other test's."""
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path / "state"))
