"""Take the screenshots of some notebooks as they are kept, and of the widgets, light and dark, as
PNG files in a directory, `notebook-…`.

    python screenshots/notebooks.py DIRECTORY [NAME …]

A name is that of a notebook, from whose beginning a page is taken, or of a widget.

Needs nbconvert (`pip install nbconvert`) and Chromium on the path (Debian: `apt-get install
chromium fonts-dejavu-core`). Nothing is fetched from anywhere.
"""

import argparse
import importlib.util
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from anywidget import AnyWidget
from nbconvert import HTMLExporter
from playwright.sync_api import Browser, Page, sync_playwright

from explorer import Catalog
from explorer.stewardship import StagedChangeset

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
THEMES = {
    "light": "<body data-jp-theme-light='true' style='margin:16px;background:#fff;color:#111'>",
    "dark": (
        "<body data-jp-theme-light='false' style='margin:16px;background:#111;color:#ddd;"
        "--jp-ui-font-color1:rgba(255,255,255,.87);--jp-ui-font-color2:rgba(255,255,255,.6);"
        "--jp-layout-color1:#111;--jp-layout-color2:#1d1d1d;--jp-border-color2:#424242;"
        "--jp-border-color0:#757575'>"
    ),
}
SETTLED_MILLIS = 400
STORIES = ("documentation_coverage", "find_a_table", "what_breaks")
WIDTH, PAGE_HEIGHT, CELL_HEIGHT = 1100, 1700, 700

# The widget's module with a model that stands in for the kernel's: it holds what was read.
_START = """async ({esm, css, state}) => {
  const address = URL.createObjectURL(new Blob([esm], {type: 'text/javascript'}));
  const widget = (await import(address)).default;
  const style = document.createElement('style');
  style.textContent = css;
  document.head.append(style);
  const model = {
    get: (name) => state[name], set: (name, value) => { state[name] = value; },
    save_changes: () => {}, send: () => {}, on: () => {}, off: () => {},
  };
  const el = document.createElement('div');
  document.body.append(el);
  await widget.render({model, el});
}"""


def lineage(cat: Catalog) -> AnyWidget:
    widget = cat["fct_orders"].lineage(hops=1).widget()
    widget.wait()
    return widget


def explore(cat: Catalog) -> AnyWidget:
    widget = cat.explore("orders")
    widget.wait()
    widget.selected = str(cat["fct_orders"].urn)
    widget.wait()
    return widget


def review(cat: Catalog) -> AnyWidget:
    edits = cat.stewardship.propose_descriptions(text="orders platform:snowflake")
    with TemporaryDirectory() as scratch:
        staged = StagedChangeset.create(
            Path(scratch) / "texts.changes.jsonl",
            edits,
            title="Texts from upstream for the orders",
            server=cat.address,
            proposed_by="urn:li:corpuser:nina.weber",
        )
        for item in staged.items[:6]:
            staged.decide(item.number, "refused" if item.number == 4 else "accepted", "")
        widget = cat.stewardship.review(staged)
        widget.wait()
    return widget


WIDGETS: dict[str, Callable[[Catalog], AnyWidget]] = {
    "lineage": lineage,
    "explore": explore,
    "review": review,
}


@contextmanager
def sample_catalog() -> Iterator[Catalog]:
    """A new catalog of this machine, with the sample on it, in a directory that goes away again."""
    spec = importlib.util.spec_from_file_location("runner", NOTEBOOKS / "run.py")
    if spec is None or spec.loader is None:
        sys.exit("notebooks/run.py is not there")
    runner = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(runner)
    with runner.new_catalog() as places, Catalog(data_dir=Path(places["CATALOG_DATA_DIR"])) as cat:
        yield cat


@contextmanager
def page_of(browser: Browser, content: str, height: int) -> Iterator[Page]:
    """A page with this on it, which reaches nothing else."""
    context = browser.new_context(viewport={"width": WIDTH, "height": height}, offline=True)
    page = context.new_page()
    page.set_content(content, wait_until="domcontentloaded")
    try:
        yield page
    finally:
        context.close()


def draw_notebook(browser: Browser, path: Path, target: Path) -> None:
    """The beginning of a notebook as it is exported."""
    # It says of itself that it has types, and has not.
    exporter: Callable[[], Any] = HTMLExporter
    html, _ = exporter().from_filename(str(path))
    with page_of(browser, html, PAGE_HEIGHT) as page:
        page.wait_for_timeout(SETTLED_MILLIS)
        page.screenshot(path=target)


def draw_widget(browser: Browser, widget: AnyWidget, theme: str, target: Path) -> None:
    """A widget as it stands in a cell."""
    held: dict[str, Any] = widget.get_state()
    module = {"esm": held.pop("_esm"), "css": held.pop("_css")}
    state = json.loads(json.dumps(held, default=str))
    page_text = f"<!doctype html><html lang='en'><title>A cell</title>{THEMES[theme]}"
    with page_of(browser, page_text, CELL_HEIGHT) as page:
        page.evaluate(_START, {**module, "state": state})
        page.wait_for_timeout(SETTLED_MILLIS)
        page.screenshot(path=target, full_page=True)


def main(directory: str, names: list[str]) -> None:
    """Take the screenshots named, or all."""
    stories = {path.stem: path for path in sorted(NOTEBOOKS.glob("*.ipynb"))}
    wanted = names or [*STORIES, *WIDGETS]
    if unknown := [name for name in wanted if name not in {**stories, **WIDGETS}]:
        sys.exit(f"no {', '.join(unknown)}; there are {', '.join([*stories, *WIDGETS])}")
    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    with sample_catalog() as cat, sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for name in wanted:
            if name in stories:
                draw_notebook(browser, stories[name], target / f"notebook-{name}.png")
                continue
            widget = WIDGETS[name](cat)
            for theme in THEMES:
                draw_widget(browser, widget, theme, target / f"notebook-{name}-{theme}.png")
        browser.close()


if __name__ == "__main__":
    words = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=words)
    parser.add_argument("directory", help="where the pictures go; it is made")
    parser.add_argument("names", nargs="*", help="notebooks and widgets; by default all")
    given = parser.parse_args()
    main(given.directory, given.names)
