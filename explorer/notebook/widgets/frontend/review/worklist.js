// A worklist: draws what Python says is left to document, and the editor that goes from one text to
// the next. Before this text stands that of the explorer's elements, parts and editor.
const MISSING = {
  of: "Description of ", done: "store",
  acts: [["store", "Save, and go to the next", "main"], ["skip", "Skip", ""], null, ["leave", "Close, keep the draft", ""], ["discard", "Discard", "quiet"]],
};
const PAGE = 100;

function render({ model, el }) {
  const kernel = watchKernel(model, el, () => { shell.drawEditor(); draw(); });
  const say = kernel.send;
  const root = () => el.getRootNode();
  const here = () => whole.contains(root().activeElement);
  const redraw = redrawing(root);
  const told = () => model.get("worklist_shown") || {};
  const writing = () => Boolean((model.get("editor") || {}).urn);

  const whole = make("div", { class: "catalog-explorer catalog-review catalog-worklist" });
  const head = make("div", { class: "cx-over cx-line" });
  const list = make("div", { class: "cx-edits", role: "group", "aria-label": "To document" });
  const pager = make("div", { class: "cx-pager" });
  const panel = make("section", { class: "cx-detail", "aria-label": "What is shown" });
  const acts = make("div", { class: "cx-line cx-acts" });
  const busy = make("span", { class: "cx-busy" });
  const problem = make("span", { class: "cx-problem", role: "alert" });
  const said = make("span", { class: "cx-said", role: "status" });
  const keys = make("span", { class: "cx-keys" });
  const shell = { here, head: acts, kernel, model, panel, redraw, root, say, writes: MISSING };
  addParts(shell);
  addEditor(shell);
  const { desk } = shell;
  const frame = make("div", { class: "cx-sheet" }, head, list, pager, panel, desk, acts, make("div", { class: "cx-note" }, busy, problem, said, make("span", { class: "cx-gap" }), keys));
  shell.frame = frame;
  whole.append(shell.away, frame);

  const row = () => list.querySelector("[aria-current]");
  const button = (name, text, kind, usable, act) => make("button", { type: "button", class: kind && `cx-${kind}`, "data-f": name, text, disabled: !usable || kernel.is() === "gone", on: { click: act } });
  const edit = () => { if (told().title && !told().why_not) say("edit"); };

  function draw() {
    const work = told(), rows = work.rows || [], inList = list.contains(root().activeElement);
    redraw(head, make("h3", { text: "To document" }), make("span", { class: "cx-dim", text: work.progress }), make("span", { class: "cx-gap" }),
      button("again", "Check for changes by others", "quiet", work.listed, () => say("again")));
    redraw(list, make("div", { class: "cx-edit cx-heads" }, (work.columns || []).map((text, at) => make("span", { class: work.numbers[at] ? "cx-name cx-number" : "cx-name", text }))),
      rows.map((one) => make("button", {
        type: "button", class: "cx-edit", "data-f": `row ${one.at}`, "aria-current": one.at === work.now ? "true" : null, tabindex: one.at === work.now ? "0" : "-1",
        on: { click: () => say("show", { at: one.at }) },
      }, one.cells.map((text, at) => make("span", { class: work.numbers[at] ? "cx-name cx-number" : "cx-name", title: text }, at === 0 && one.draft ? make("span", { class: "cx-edited", text: "✎ " }) : null, text)))),
      rows.length ? null : make("p", { class: "cx-dim cx-pad", text: "nothing here" }));
    if (inList) row()?.focus({ preventScroll: true });
    const one = row();
    if (one) {
      const top = one.offsetTop - list.offsetTop, tall = one.offsetHeight;
      if (top - 2 * tall < list.scrollTop) list.scrollTop = top - 2 * tall;
      else if (top + 2 * tall > list.scrollTop + list.clientHeight) list.scrollTop = top + 2 * tall - list.clientHeight;
    }
    const after = (work.start || 0) + rows.length;
    redraw(pager, button("before", "← previous", "", work.start > 0, () => say("move", { by: -PAGE })),
      button("after", "next →", "", after < work.listed, () => say("move", { by: PAGE })));
    pager.hidden = !(work.start > 0 || after < work.listed);
    redraw(panel, work.title ? [make("h4", { text: work.title }), make("div", { class: "cx-urn", text: work.urn }), work.facts.map((text) => make("div", { class: "cx-dim", text }))] : make("p", { class: "cx-dim", text: "Everything here is documented." }));
    drawActs();
  }

  function drawActs() {
    acts.hidden = writing();
    keys.textContent = writing() ? "ctrl+s save, and go to the next · esc close, keep the draft" : "e write · j k move";
    redraw(acts, button("edit", "Write …", "main", told().title && !told().why_not, edit), make("span", { class: "cx-dim", text: told().why_not || "" }));
  }

  const release = keepKeys(whole, (event) => shell.editorKey(event));
  const pressed = {
    e: edit, j: () => say("move", { by: 1 }), ArrowDown: () => say("move", { by: 1 }), k: () => say("move", { by: -1 }), ArrowUp: () => say("move", { by: -1 }),
    PageDown: () => say("move", { by: 10 }), PageUp: () => say("move", { by: -10 }),
  };
  whole.addEventListener("keydown", (event) => {
    if (desk.contains(event.target) || event.ctrlKey || event.metaKey || event.altKey || writing()) return;
    const act = event.key === "Enter" && event.target === row() ? edit : pressed[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  el.append(whole);
  const unfollow = followTheme(whole);
  const showStill = hideStill(model);
  const drawn = {
    worklist_shown: draw, editor: () => drawInTurn(writing(), shell.drawEditor, drawActs), typed: shell.drawTyped, preview: shell.drawPreview,
    busy: () => { busy.textContent = model.get("busy"); },
    problem: () => { problem.textContent = model.get("problem"); },
    said: () => { said.textContent = model.get("said"); },
  };
  for (const [name, one] of Object.entries(drawn)) {
    drawn[name] = () => keepFocus(whole, one);
    model.on(`change:${name}`, drawn[name]);
    one();
  }
  kernel.look();
  return () => {
    release();
    unfollow();
    showStill();
    kernel.release();
    for (const [name, one] of Object.entries(drawn)) model.off(`change:${name}`, one);
    shell.typed.cancel();
  };
}

export default { render };
