"""Widgets in a real browser: their module on a bare page, with a model that stands in for the
kernel's; and the documentation page of a service. These tests have a process of their own, for an
open browser keeps a loop running:

    pytest tests/browser -o addopts="--import-mode=importlib"

Nothing but this machine can be reached, and `Page.problems` holds every error and every request
that was tried. REQUIRE_BROWSER=1 makes a missing browser a failure.
"""

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)
_NAMES = ("chromium", "chromium-browser", "google-chrome")

_THEMES = {
    "light": "<body style='margin:12px;background:#fff' data-jp-theme-light='true'>",
    # An application that says nothing of its theme: its colours do.
    "night": "<body style='margin:12px;background:#181c1a;color:#eceeed'>",
    "dark": """<body data-jp-theme-light="false" style="margin:12px;background:#111;
--jp-ui-font-color1:rgba(255,255,255,.87);--jp-ui-font-color2:rgba(255,255,255,.6);
--jp-layout-color1:#111;--jp-layout-color2:#1d1d1d;--jp-border-color2:#424242;
--jp-border-color0:#757575;--jp-error-color1:#f2827f">""",
}

_START = """async ({esm, css, state}) => {
  const address = URL.createObjectURL(new Blob([esm], {type: 'text/javascript'}));
  const widget = (await import(address)).default;
  const style = document.createElement('style');
  style.textContent = css;
  document.head.append(style);
  const held = {...state}, listeners = {};
  const fire = (name, ...told) => [...(listeners[name] || [])].forEach((call) => call(...told));
  window.sent = [];
  window.saved = 0;
  window.model = {
    get: (name) => held[name],
    set: (name, value) => { held[name] = value; fire(`change:${name}`); },
    save_changes: () => { window.saved += 1; },
    send: (message) => window.sent.push(message),
    on: (name, call) => (listeners[name] = listeners[name] || []).push(call),
    off: (name, call) => {
      listeners[name] = (listeners[name] || []).filter((one) => one !== call);
    },
  };
  window.gone = () => fire('comm_live_update');
  window.tell = (message) => fire('msg:custom', message);
  window.listening = () => Object.values(listeners).reduce((sum, calls) => sum + calls.length, 0);
  const el = document.createElement('div');
  document.body.append(el);
  window.remove = await widget.render({model: window.model, el});
}"""


# Of each text that can be seen: how its colour stands out from what is behind it, by WCAG 2.
_CONTRASTS = """() => {
  const parse = (color) => {
    const [r, g, b, a = 1] = color.match(/[\\d.]+/g).map(Number);
    const by = color.startsWith('color') ? 255 : 1;
    return [r * by, g * by, b * by, a];
  };
  const over = ([r, g, b, a], under) => [r, g, b].map((one, at) => one * a + under[at] * (1 - a));
  const light = (color) => {
    const [r, g, b] = color.map((one) => one / 255).map((one) =>
      one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const chain = (one) => one ? [...chain(one.parentElement), one] : [];
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode, of = text.parentElement;
    if (!text.data.trim() || !of.checkVisibility() || of.closest('title, style, option, :disabled'))
      continue;
    let ground = [255, 255, 255], solid = 1;
    for (const one of chain(of)) {
      const style = getComputedStyle(one);
      solid *= Number(style.opacity);
      const [r, g, b, a] = parse(style.backgroundColor);
      ground = over([r, g, b, a], ground);
    }
    // There until the pointer comes.
    if (!solid) continue;
    const node = of.closest('.cx-node')?.querySelector('.cx-box');
    if (of.closest('svg')) ground = parse(getComputedStyle(node || document.body).fill).slice(0, 3);
    const style = getComputedStyle(of);
    const [r, g, b, a] = parse(of.closest('svg') ? style.fill : style.color);
    const shown = over([r, g, b, a * solid], ground);
    const [one, other] = [light(shown), light(ground)].sort((x, y) => y - x);
    found.push([(one + 0.05) / (other + 0.05), text.data.trim().slice(0, 60)]);
  }
  return found;
}"""


class Page:
    """A widget's module on a page; `page` is playwright's."""

    def __init__(
        self, browser: Any, esm: Any, css: Any, state: Any, theme: Any, width: Any, height: Any
    ) -> None:
        self._context = browser.new_context(viewport={"width": width, "height": height})
        self.page = self._context.new_page()
        self.page.set_default_timeout(120_000)
        self.problems: list[str] = []
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("console", self._heard)
        self.page.on("request", self._asked)
        self.page.set_content(
            f"<!doctype html><html lang='en'><title>A cell</title>{_THEMES[theme]}"
        )
        self.page.evaluate(_START, {"esm": esm, "css": css, "state": state})

    @property
    def sent(self) -> Any:
        """What the page sent to the kernel, in order, without what names each message."""
        return [
            {key: value for key, value in one.items() if key not in ("seq", "view")}
            for one in self.page.evaluate("window.sent")
        ]

    def get(self, name: Any) -> Any:
        return self.page.evaluate("(name) => window.model.get(name)", name)

    def set(self, **values: Any) -> None:
        """What the kernel sets."""
        for pair in values.items():
            self.page.evaluate("([name, value]) => window.model.set(name, value)", list(pair))

    def tell(self, message: Any) -> None:
        """A message of the kernel's."""
        self.page.evaluate("(message) => window.tell(message)", message)

    def contrasts(self) -> Any:
        """Each text that can be seen and its contrast, the palest first."""
        return sorted(map(tuple, self.page.evaluate(_CONTRASTS)))

    def foreign_classes(self) -> Any:
        """The classes on the page whose names are not reserved for this package's widgets."""
        names = self.page.locator("[class]").evaluate_all(
            "(all) => all.flatMap((one) => [...one.classList])"
        )
        return [name for name in names if not name.startswith(("cx-", "catalog-"))]

    def picture(self, name: Any) -> None:
        """A picture of the page, where BROWSER_PICTURES names a directory."""
        directory = os.environ.get("BROWSER_PICTURES")
        if directory:
            self.page.screenshot(path=f"{directory}/{name}.png")

    def close(self) -> None:
        self._context.close()

    def _heard(self, message: Any) -> None:
        if message.type == "error":
            self.problems.append(f"console: {message.text}")

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(("blob:", "data:", "about:")):
            self.problems.append(f"request: {request.url}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    missing = pytest.fail if os.environ.get("REQUIRE_BROWSER") == "1" else pytest.skip
    named = (os.environ.get("CHROMIUM"), *_NAMES)
    found = next((path for name in named if name and (path := shutil.which(name))), None)
    if found is None:
        missing("no chromium is on the PATH; install one, or name it in CHROMIUM")
    if find_spec("playwright") is None:
        missing("playwright is not installed; the extra `browser` brings it")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        running = driver.chromium.launch(
            executable_path=found, headless=True, args=list(_ARGUMENTS)
        )
        yield running
        running.close()


@pytest.fixture
def open_widget(browser: Any) -> Iterator[Any]:
    """Opens a widget's module with a state; after the test no page may have had a problem."""
    pages = []

    def open_one(
        esm: Any,
        css: Any,
        state: Any,
        *,
        theme: str = "light",
        width: int = 1000,
        height: int = 760,
    ) -> Any:
        pages.append(Page(browser, esm, css, state, theme, width, height))
        return pages[-1]

    yield open_one
    problems = [problem for page in pages for problem in page.problems]
    for page in pages:
        page.close()
    assert problems == []
