// What a review and a worklist share: a page of rows, the one that is shown, and the keys that move it.
const PAGE = 100;

// `above` is how many rows before the shown one stay in sight, a heading that sticks among them.
function addRows(shell, label, above) {
  const { kernel, model, redraw, say } = shell;
  const list = make("div", { class: "cx-edits", role: "group", "aria-label": label });
  const pager = make("div", { class: "cx-pager" });
  const by = (rows) => () => say("move", { by: rows });
  const moves = { j: by(1), ArrowDown: by(1), k: by(-1), ArrowUp: by(-1), PageDown: by(10), PageUp: by(-10) };

  const row = () => list.querySelector("[aria-current]");
  const writing = () => Boolean((model.get("editor") || {}).urn);

  function button(name, text, kind, usable, act, title = null) {
    return make("button", { type: "button", class: kind && `cx-${kind}`, "data-f": name, text, title, disabled: !usable || kernel.is() === "gone", on: { click: act } });
  }

  // `classes` are those of the cells; `named` is what tells the row from the others of the list.
  function drawRow({ cells, draft }, named, kind, isShown, show, classes = []) {
    return make("button", {
      type: "button", class: kind, "data-f": `row ${named}`, "aria-current": isShown ? "true" : null, tabindex: isShown ? "0" : "-1", on: { click: show },
    }, cells.map((text, at) => make("span", { class: `cx-name ${classes[at] || ""}`, title: text }, at === 0 && draft ? make("span", { class: "cx-edited", text: "✎ " }) : null, text)));
  }

  // Within the list alone: the page does not move. A row after the shown one stays in sight too.
  function reveal() {
    const one = row();
    if (!one) return;
    const top = one.offsetTop - list.offsetTop, tall = one.offsetHeight;
    if (top - above * tall < list.scrollTop) list.scrollTop = top - above * tall;
    else if (top + 2 * tall > list.scrollTop + list.clientHeight) list.scrollTop = top + 2 * tall - list.clientHeight;
  }

  // `start` is the place of the first row of this page among all that are listed.
  function drawPager({ start = 0, listed = 0, rows = [] }, ...more) {
    const after = start + rows.length;
    redraw(pager, button("before", "← previous", "", start > 0, by(-PAGE)), button("after", "next →", "", after < listed, by(PAGE)), ...more);
    pager.hidden = !(start > 0 || after < listed);
  }

  Object.assign(shell, { button, drawPager, drawRow, list, moves, pager, reveal, row, writing });
}
