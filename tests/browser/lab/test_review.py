"""A changeset reviewed in JupyterLab by keys: decided, changed, written and undone."""

import re
from pathlib import Path
from typing import Any

from explorer.stewardship import StagedChangeset

CELLS = (
    "from explorer import Catalog\ncat = Catalog()",
    "edits = cat.stewardship.propose_descriptions(text='orders platform:snowflake')[:4]\n"
    "staged = cat.stewardship.stage(edits, 'Texts from upstream')\n"
    "review = cat.stewardship.review(staged)\nreview",
    "review",
)
KEPT = (
    "[one.draft.text for one in __import__('explorer.stewardship.drafts', fromlist=['*'])"
    ".Drafts.of_changeset(staged.id).all()]"
)
SAVE = "async () => await window.jupyterapp.commands.execute('docmanager:save')"
DARK = """async () => await window.jupyterapp.commands.execute(
  'apputils:change-theme', {theme: 'JupyterLab Dark'})"""
CELL_COUNT = "() => window.jupyterapp.shell.currentWidget.content.widgets.length"


def test_a_changeset_is_reviewed_by_keys_and_written(open_notebook: Any, expect: Any) -> None:
    book = open_notebook(*CELLS)
    book.run()
    page = book.page
    first, second = (page.locator(".catalog-review").nth(at) for at in range(2))
    states = first.locator(".cx-edit .cx-name:first-child")
    expect(states).to_have_text(["· open"] * 4)
    before = page.evaluate(CELL_COUNT)

    # Keys decide, in the file at once, and do nothing to the notebook.
    first.locator(".cx-edit").first.click()
    page.keyboard.press("a")
    expect(states).to_have_text(["✓ accepted", "· open", "· open", "· open"])
    expect(second.locator(".cx-edit[aria-current]")).to_contain_text("open")
    page.keyboard.press("x")
    expect(states.nth(1)).to_have_text("✗ refused")
    file = Path(book.value("str(staged.path)"))
    counts = StagedChangeset.open(file).counts()
    assert counts == {"open": 2, "accepted": 1, "refused": 1}
    book.picture("review-keys")

    # What is typed is in both views, on disk, and there after a reload.
    page.keyboard.press("e")
    area = first.get_by_role("textbox", name="Description, markdown")
    expect(area).to_be_focused()
    area.fill("")
    area.press_sequentially("Typed by a <b>steward</b>, axe.", delay=10)
    text = "Typed by a <b>steward</b>, axe."
    expect(second.get_by_role("textbox", name="Description, markdown")).to_have_value(text)
    book.becomes(KEPT, [text])
    page.evaluate(SAVE)
    assert "Typed by a" not in book.file.read_text(encoding="utf-8")
    page.reload()
    book.connect()
    expect(area).to_have_value(text)
    book.picture("review-typed")
    page.evaluate(DARK)
    page.wait_for_function("() => document.body.dataset.jpThemeLight === 'false'")
    book.picture("review-typed-dark")
    area.press("Control+s")
    expect(states.nth(2)).to_have_text("✓ accepted")
    book.becomes(KEPT, [])

    # Only what was confirmed is written.
    first.locator(".cx-edit[aria-current]").click()
    page.keyboard.press("Control+s")
    expect(first.get_by_role("alert").filter(has_text="Write 2 changes")).to_be_visible()
    book.picture("review-question-dark")
    page.keyboard.press("Enter")
    expect(first.get_by_role("status").filter(has_text="Written: 2 changes")).to_be_visible()
    expect(states).to_have_text(["● applied", "✗ refused", "● applied", "· open"])
    assert page.evaluate(CELL_COUNT) == before
    held = "cat.entity(edits[2].urn).schema[edits[2].column].edited"
    assert book.value(held) == text
    undone = "[edit.what for edit in cat.undo_save()]"
    assert book.value(undone).count("description") == 2
    assert not book.value(f"{held} or ''")
    book.picture("review-written-dark")
    # The preview is markdown, and never HTML.
    expect(page.locator("b", has_text=re.compile("^steward$"))).to_have_count(0)
