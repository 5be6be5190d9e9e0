"""A worklist written in JupyterLab: one text after the other, without the mouse."""

from typing import Any

CELLS = (
    "from explorer import Catalog\ncat = Catalog()",
    "work = cat.stewardship.worklist(text='refunds', top=20)\nwidget = work.widget()\nwidget",
)
FIRST = "cat.entity(work.items[{at}].urn).schema[work.items[{at}].column.raw].edited or ''"


def test_texts_are_written_one_after_the_other_without_the_mouse(
    open_notebook: Any, expect: Any
) -> None:
    book = open_notebook(*CELLS)
    book.run()
    page = book.page
    widget = page.locator(".catalog-worklist")
    rows = widget.locator("button.cx-edit")
    count = rows.count()
    assert count > 3
    assert book.value("[one.column is None for one in work.items[:2]]") == [False, False]
    rows.first.focus()
    page.keyboard.press("e")
    area = widget.get_by_role("textbox", name="Description, markdown")
    for at, text in enumerate(("Written first.", "Written second.")):
        title = book.value(f"work.items[{at}].column.simple")
        expect(widget.locator(".cx-desk h4")).to_contain_text(f"«{title} of")
        expect(area).to_be_focused()
        expect(area).to_have_value("")
        page.keyboard.type(text, delay=10)
        if at:
            book.picture("worklist-lab")
        page.keyboard.press("Control+s")
        expect(rows).to_have_count(count - at - 1)
        assert book.value(FIRST.format(at=at)) == text
    expect(area).to_be_focused()
    page.keyboard.press("Escape")
    expect(area).to_be_hidden()
    expect(widget.get_by_text("2 written")).to_be_visible()
    for _ in range(2):
        book.value("len(cat.undo_save())")
