// A worklist: draws what Python says is left to document, and the editor that goes from one text to
// the next. Before this text stands that of the explorer's elements and editor, and of rows.js.
const MISSING = {
  of: "Description of ", done: "store",
  acts: [["store", "Save, and go to the next", "main"], ["skip", "Skip", ""], null, ["leave", "Close, keep the draft", ""], ["discard", "Discard", "quiet"]],
};

// What a column of each kind is given; in less room the numbers after the first and the lesser texts are left out.
const WIDTHS = { number: "92px", strong: "minmax(80px, 5fr)", text: "minmax(80px, 5fr)", minor: "minmax(0, 2fr)" };

function render({ model, el }) {
  const shell = shellOf({ model, el }, "catalog-explorer catalog-review catalog-worklist", () => { shell.drawEditor(); draw(); });
  const { kernel, redraw, root, say, whole } = shell;
  const told = () => model.get("worklist_shown") || {};

  const head = make("div", { class: "cx-over cx-line" });
  const panel = make("section", { class: "cx-detail", "aria-label": "What is shown" });
  const acts = make("div", { class: "cx-line cx-acts" });
  const keys = make("span", { class: "cx-keys" });
  const { drawn, note } = noteOf(model, make("span", { class: "cx-gap" }), keys);
  Object.assign(shell, { head: acts, panel, writes: MISSING });
  addParts(shell);
  addEditor(shell);
  addRows(shell, "To document", 2);
  const { button, desk, list, pager, row, writing } = shell;
  const frame = make("div", { class: "cx-sheet" }, head, list, pager, panel, desk, acts, note);
  shell.frame = frame;
  whole.append(shell.away, frame);

  const edit = () => { if (told().title && !told().why_not) say("edit"); };

  function draw() {
    const work = told(), rows = work.rows || [], inList = list.contains(root().activeElement);
    redraw(head, make("h3", { text: "To document" }), make("span", { class: "cx-dim", text: work.progress }), make("span", { class: "cx-gap" }),
      button("again", "Check for changes by others", "quiet", work.listed, () => say("again")));
    const columns = work.columns || [], classes = columns.map(({ kind }) => `cx-${kind}`);
    list.style.setProperty("--cells", columns.map(({ kind }) => WIDTHS[kind]).join(" "));
    list.style.setProperty("--few", columns.filter(({ kind }, at) => at === 0 || WIDTHS[kind] === WIDTHS.text).map(({ kind }) => WIDTHS[kind]).join(" "));
    redraw(list, make("div", { class: "cx-edit cx-heads" }, columns.map(({ title }, at) => make("span", { class: `cx-name ${classes[at]}`, text: title }))),
      rows.map((one) => shell.drawRow(one, one.at, "cx-edit", one.at === work.now, () => say("show", { at: one.at }), classes)),
      rows.length ? null : make("p", { class: "cx-dim cx-pad", text: work.nothing }));
    if (inList) row()?.focus({ preventScroll: true });
    shell.reveal();
    shell.drawPager(work);
    redraw(panel, work.title ? [make("h4", { text: work.title }), make("div", { class: "cx-urn", text: work.urn }), work.facts.map((text) => make("div", { class: "cx-dim", text }))] : null);
    drawActs();
  }

  function drawActs() {
    acts.hidden = writing();
    keys.textContent = writing() ? "ctrl+s save, and go to the next · esc close, keep the draft" : "e write · j k move";
    redraw(acts, button("edit", "Write …", "main", told().title && !told().why_not, edit), make("span", { class: "cx-dim", text: told().why_not || "" }));
  }

  const release = keepKeys(whole, (event) => shell.editorKey(event));
  const pressed = { e: edit, ...shell.moves };
  whole.addEventListener("keydown", (event) => {
    if (desk.contains(event.target) || event.ctrlKey || event.metaKey || event.altKey || writing()) return;
    const act = event.key === "Enter" && event.target === row() ? edit : pressed[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  return drawChanges({ model, el }, whole, kernel, {
    ...drawn, worklist_shown: draw,
    editor: () => drawInTurn(writing(), shell.drawEditor, drawActs), typed: shell.drawTyped, preview: shell.drawPreview,
  }, [release, shell.typed.cancel]);
}

export default { render };
