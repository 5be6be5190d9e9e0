// The review of a staged changeset: draws what Python says of it and tells what the reader decides.
// Before this text stands that of the explorer's elements and editor, and of rows.js.
const PROPOSALS = {
  of: "Text for ", done: "accept",
  acts: [["accept", "Accept this text", "main"], ["leave", "Back without deciding", ""], null, ["discard", "Discard the text", "quiet"]],
};

function render({ model, el }) {
  // Which question is shown below the list: "apply", "all", "import", or none.
  let asks = "";
  const shell = shellOf({ model, el }, "catalog-explorer catalog-review", () => { shell.drawEditor(); draw(); });
  const { here, kernel, redraw, root, say, whole } = shell;
  const told = () => model.get("review") || {};
  const shown = () => model.get("item") || {};

  const head = make("div", { class: "cx-over cx-line" });
  const chips = make("div", { class: "cx-chips" });
  const panel = make("section", { class: "cx-detail", "aria-label": "The edit that is shown" });
  const acts = make("div", { class: "cx-line cx-acts" });
  const meter = make("div", { class: "cx-meter", role: "progressbar", "aria-label": "Writing", "aria-valuemin": "0", hidden: true }, make("div"));
  const keys = make("span", { class: "cx-keys" });
  const { busy, drawn, note } = noteOf(model, make("span", { class: "cx-gap" }), keys);

  Object.assign(shell, { head: acts, panel, writes: PROPOSALS });
  addParts(shell);
  addEditor(shell);
  addRows(shell, "Edits", 1);
  const { button, desk, list, pager, row, writing } = shell;
  const frame = make("div", { class: "cx-sheet" }, head, chips, list, pager, panel, desk, acts, meter, note);
  shell.frame = frame;
  whole.append(shell.away, frame);

  function decide(state) {
    const item = shown();
    if (item.number) say("decide", { number: item.number, state });
  }

  function edit() {
    const item = shown();
    if (item.editable) say("edit", { number: item.number });
  }

  function ask(what) {
    const review = told();
    if (what === "apply" && (review.why_not || !review.accepted || review.writing)) what = "";
    if (what === "all" && (!review.open || review.writing)) what = "";
    if (what === "import" && (!review.foreign || review.writing)) what = "";
    asks = what;
    keepFocus(whole, drawActs);
    if (asks && here()) acts.querySelector("button")?.focus({ preventScroll: true });
  }

  function answer(yes) {
    const review = told(), what = asks;
    asks = "";
    if (yes) say(what, what === "import" ? {} : { count: what === "apply" ? review.accepted : review.open });
    keepFocus(whole, drawActs);
    if (here()) row()?.focus({ preventScroll: true });
  }

  function draw() {
    drawReview();
    drawItem();
  }

  function drawReview() {
    const review = told(), rows = review.rows || [];
    redraw(head, make("h3", { text: review.title }), make("span", { class: review.foreign ? "cx-loud" : "cx-dim", text: review.foreign || review.shared || "" }), make("span", { class: "cx-gap" }),
      review.foreign ? button("import", "Import …", "", !review.writing, () => ask("import"), "make a changeset of this catalog of it") : null,
      button("again", "Read the file again", "quiet", true, () => say("again"), "reads decisions made elsewhere"));
    const only = (state, label, count) => make("button", { type: "button", class: "cx-chip", "data-f": `only ${state}`, "aria-pressed": String(review.only === state), on: { click: () => say("only", { state }) } },
      label, " ", make("span", { text: (count ?? 0).toLocaleString("en") }));
    redraw(chips, only("", "all", review.total), (review.counts || []).map(([state, count]) => only(state, state, count)),
      review.typed ? make("span", { class: "cx-dim", text: `✎ ${review.typed} typed and not decided` }) : null);
    const now = shown().number;
    redraw(list, rows.map((one) => shell.drawRow(one, one.number, `cx-edit cx-is-${one.state}`, one.number === now, () => say("show", { number: one.number }))),
      rows.length ? null : make("p", { class: "cx-dim cx-pad", text: "nothing here" }));
    const start = review.start || 0;
    shell.drawPager(review, make("span", { class: "cx-dim", text: `${(start + 1).toLocaleString("en")}–${(start + rows.length).toLocaleString("en")} of ${(review.listed || 0).toLocaleString("en")}` }));
    drawActs();
  }

  function drawItem() {
    const item = shown(), inList = list.contains(root().activeElement);
    for (const one of list.children) {
      const now = one.dataset.f === `row ${item.number}`;
      one.toggleAttribute("aria-current", now);
      if (now) one.setAttribute("aria-current", "true");
      one.tabIndex = now ? 0 : -1;
    }
    if (inList) row()?.focus({ preventScroll: true });
    shell.reveal();
    redraw(panel, item.number ? [
      make("div", { class: "cx-line" }, make("h4", { text: item.title }), make("span", { class: "cx-dim", text: item.people })),
      make("div", { class: "cx-urn", text: item.urn }),
      shell.drawDiff(item.lines || []),
    ] : make("p", { class: "cx-dim", text: "There is nothing to review." }));
    drawActs();
  }

  function drawActs() {
    const item = shown(), review = told();
    acts.hidden = writing();
    keys.textContent = writing() ? "ctrl+s accept · esc back without deciding" : "a accept · x refuse · e change · u undecide · j k move · ctrl+s write";
    if (asks) {
      const count = (asks === "apply" ? review.accepted : review.open) || 0, many = count === 1 ? "1 change" : `${count.toLocaleString("en")} changes`;
      const typed = review.typed ? ` Typed, undecided texts (${review.typed}) are not included.` : "";
      const question = {
        apply: `Write ${many} to the catalog${review.place ? ` ${review.place}` : ""}? A single undo takes all of them back.`,
        all: `Accept all ${count.toLocaleString("en")} undecided changes? Nothing is written yet.${typed}`,
        import: review.imports,
      }[asks];
      redraw(acts, make("span", { class: "cx-loud", role: "alert", text: question }),
        make("span", { class: "cx-gap" }),
        button("yes", { apply: `Write ${many}`, all: "Accept all", import: "Import" }[asks], "main", true, () => answer(true)),
        button("no", "Not now", "", true, () => answer(false)));
      return;
    }
    redraw(acts,
      button("accepted", "Accept", "", item.decidable && item.state !== "accepted", () => decide("accepted"), "a"),
      button("refused", "Refuse", "", item.decidable && item.state !== "refused", () => decide("refused"), "x"),
      button("edit", item.draft ? "✎ Go on writing …" : "Change …", "", item.editable, edit, "e"),
      button("open", "Undecide", "quiet", item.decided, () => decide("open"), "u"),
      make("span", { class: "cx-gap" }),
      button("all", "Accept all …", "quiet", review.open && !review.writing, () => ask("all"), "A"),
      button("apply", `Write ${(review.accepted || 0).toLocaleString("en")} accepted …`, "main", review.accepted && !review.writing && !review.why_not, () => ask("apply"), review.why_not || "ctrl+s"));
  }

  function drawProgress() {
    const { done = 0, total = 0 } = model.get("progress") || {};
    meter.hidden = !total;
    meter.setAttribute("aria-valuemax", total);
    meter.setAttribute("aria-valuenow", done);
    meter.firstChild.style.width = `${total ? Math.round(100 * done / total) : 0}%`;
    busy.textContent = total ? `writing ${done.toLocaleString("en")} of ${total.toLocaleString("en")} …` : model.get("busy");
  }

  const isSave = (event) => (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s";
  const release = keepKeys(whole, isSave);
  const pressed = {
    a: () => decide("accepted"), x: () => decide("refused"), u: () => shown().decided && decide("open"), e: edit, A: () => ask("all"),
    ...shell.moves,
  };
  whole.addEventListener("keydown", (event) => {
    if (desk.contains(event.target) || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    if (isSave(event)) {
      event.preventDefault();
      if (asks === "apply") answer(true); else ask("apply");
    } else if (asks) {
      if (event.key === "Escape") { event.preventDefault(); answer(false); }
    } else if (!event.ctrlKey && !event.metaKey && !event.altKey && !writing()) {
      const act = event.key === "Enter" && event.target === row() ? edit : pressed[event.key];
      if (act) { event.preventDefault(); act(); }
    }
  });
  return drawChanges({ model, el }, whole, kernel, {
    ...drawn, review: drawReview, item: drawItem, progress: drawProgress, busy: drawProgress,
    editor: () => drawInTurn(writing(), shell.drawEditor, drawActs), typed: shell.drawTyped, preview: shell.drawPreview,
  }, [release, shell.typed.cancel]);
}

export default { render };
