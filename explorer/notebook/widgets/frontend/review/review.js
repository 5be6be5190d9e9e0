// The review of a staged changeset: draws what Python says of it and tells what the reader decides.
// Before this text stands that of the explorer's elements, parts and editor.
const PROPOSALS = {
  of: "Text for ", done: "accept",
  acts: [["accept", "Accept this text", "main"], ["leave", "Back without deciding", ""], null, ["discard", "Discard the text", "quiet"]],
};
const PAGE = 100;

function render({ model, el }) {
  // Which question is shown below the list: "apply", "all", or none.
  let asks = "";
  const kernel = watchKernel(model, el, () => { shell.drawEditor(); draw(); });
  const say = kernel.send;
  const root = () => el.getRootNode();
  const here = () => whole.contains(root().activeElement);
  const redraw = redrawing(root);
  const told = () => model.get("review") || {};
  const shown = () => model.get("item") || {};

  const whole = make("div", { class: "catalog-explorer catalog-review" });
  const head = make("div", { class: "cx-over cx-line" });
  const chips = make("div", { class: "cx-chips" });
  const list = make("div", { class: "cx-edits", role: "group", "aria-label": "Edits" });
  const pager = make("div", { class: "cx-pager" });
  const panel = make("section", { class: "cx-detail", "aria-label": "The edit that is shown" });
  const acts = make("div", { class: "cx-line cx-acts" });
  const meter = make("div", { class: "cx-meter", role: "progressbar", "aria-label": "Writing", "aria-valuemin": "0", hidden: true }, make("div"));
  const busy = make("span", { class: "cx-busy" });
  const problem = make("span", { class: "cx-problem", role: "alert" });
  const said = make("span", { class: "cx-said", role: "status" });
  const keys = make("span", { class: "cx-keys" });

  const shell = { here, head: acts, kernel, model, panel, redraw, root, say, writes: PROPOSALS };
  addParts(shell);
  addEditor(shell);
  const { desk } = shell;
  const frame = make("div", { class: "cx-sheet" }, head, chips, list, pager, panel, desk, acts, meter, make("div", { class: "cx-note" }, busy, problem, said, make("span", { class: "cx-gap" }), keys));
  shell.frame = frame;
  whole.append(shell.away, frame);

  const isGone = () => kernel.is() === "gone";
  const writing = () => Boolean((model.get("editor") || {}).urn);

  function button(name, text, kind, usable, act, title = null) {
    return make("button", { type: "button", class: kind && `cx-${kind}`, "data-f": name, text, title, disabled: !usable || isGone(), on: { click: act } });
  }

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
    asks = what;
    keepFocus(whole, drawActs);
    if (asks && here()) acts.querySelector("button")?.focus({ preventScroll: true });
  }

  function answer(yes) {
    const review = told(), what = asks;
    asks = "";
    if (yes) say(what, { count: what === "apply" ? review.accepted : review.open });
    keepFocus(whole, drawActs);
    if (here()) row()?.focus({ preventScroll: true });
  }

  const row = () => list.querySelector("[aria-current]");

  function draw() {
    drawReview();
    drawItem();
  }

  function drawReview() {
    const review = told(), rows = review.rows || [];
    redraw(head, make("h3", { text: review.title }), make("span", { class: "cx-dim", text: review.shared || "" }), make("span", { class: "cx-gap" }),
      button("again", "Read the file again", "quiet", true, () => say("again"), "reads decisions made elsewhere"));
    const only = (state, label, count) => make("button", { type: "button", class: "cx-chip", "data-f": `only ${state}`, "aria-pressed": String(review.only === state), on: { click: () => say("only", { state }) } },
      label, " ", make("span", { text: (count ?? 0).toLocaleString("en") }));
    redraw(chips, only("", "all", review.total), (review.counts || []).map(([state, count]) => only(state, state, count)),
      review.typed ? make("span", { class: "cx-dim", text: `✎ ${review.typed} typed and not decided` }) : null);
    const now = shown().number;
    redraw(list, rows.map((one) => make("button", {
      type: "button", class: `cx-edit cx-is-${one.state}`, "data-f": `row ${one.number}`, "aria-current": one.number === now ? "true" : null, tabindex: one.number === now ? "0" : "-1",
      on: { click: () => say("show", { number: one.number }) },
    }, one.cells.map((text, at) => make("span", { class: "cx-name", title: text }, at === 0 && one.draft ? make("span", { class: "cx-edited", text: "✎ " }) : null, text)))),
    rows.length ? null : make("p", { class: "cx-dim cx-pad", text: "nothing here" }));
    const after = (review.start || 0) + rows.length;
    redraw(pager, button("before", "← previous", "", review.start > 0, () => say("move", { by: -PAGE })),
      button("after", "next →", "", after < review.listed, () => say("move", { by: PAGE })),
      make("span", { class: "cx-dim", text: `${((review.start || 0) + 1).toLocaleString("en")}–${after.toLocaleString("en")} of ${(review.listed || 0).toLocaleString("en")}` }));
    pager.hidden = !(review.start > 0 || after < review.listed);
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
    reveal();
    redraw(panel, item.number ? [
      make("div", { class: "cx-line" }, make("h4", { text: item.title }), make("span", { class: "cx-dim", text: item.people })),
      make("div", { class: "cx-urn", text: item.urn }),
      shell.drawDiff(item.lines || []),
    ] : make("p", { class: "cx-dim", text: "There is nothing to review." }));
    drawActs();
  }

  // Within the list alone: the page does not move. A row before and after stays in sight.
  function reveal() {
    const one = row();
    if (!one) return;
    const top = one.offsetTop - list.offsetTop, tall = one.offsetHeight;
    if (top - tall < list.scrollTop) list.scrollTop = top - tall;
    else if (top + 2 * tall > list.scrollTop + list.clientHeight) list.scrollTop = top + 2 * tall - list.clientHeight;
  }

  function drawActs() {
    const item = shown(), review = told();
    acts.hidden = writing();
    keys.textContent = writing() ? "ctrl+s accept · esc back without deciding" : "a accept · x refuse · e change · u undecide · j k move · ctrl+s write";
    if (asks) {
      const count = (asks === "apply" ? review.accepted : review.open) || 0, many = count === 1 ? "1 change" : `${count.toLocaleString("en")} changes`;
      const typed = review.typed ? ` Typed, undecided texts (${review.typed}) are not included.` : "";
      redraw(acts, make("span", { class: "cx-loud", role: "alert", text: asks === "apply" ? `Write ${many} to the catalog? A single undo takes all of them back.` : `Accept all ${count.toLocaleString("en")} undecided changes? Nothing is written yet.${typed}` }),
        make("span", { class: "cx-gap" }),
        button("yes", asks === "apply" ? `Write ${many}` : "Accept all", "main", true, () => answer(true)),
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
    j: () => say("move", { by: 1 }), ArrowDown: () => say("move", { by: 1 }), k: () => say("move", { by: -1 }), ArrowUp: () => say("move", { by: -1 }),
    PageDown: () => say("move", { by: 10 }), PageUp: () => say("move", { by: -10 }),
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
  el.append(whole);
  const unfollow = followTheme(whole);
  const showStill = hideStill(model);

  const drawn = {
    review: drawReview, item: drawItem, progress: drawProgress,
    editor: () => drawInTurn(writing(), shell.drawEditor, drawActs), typed: shell.drawTyped, preview: shell.drawPreview,
    busy: drawProgress,
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
