// Draws what Python says and tells it what the reader does. Before this module's text stands that of
// the other scripts here: each adds a part, its elements and what draws it, to the shell.
let views = 0;

function render({ model, el }) {
  const own = `catalog-explorer-${++views}`;
  let side = "browse";
  const shell = { ...shellOf({ model, el }, "catalog-explorer", () => shell.drawEditor()), own };
  for (const add of [addParts, addBodies, addEntity, addEditor, addDrafts, addSearch, addFolders, addFound]) add(shell);
  const { back, box, desk, facets, kernel, tree, whole } = shell;

  const sides = ["browse", "narrow"].map((one) => make("button", {
    type: "button", "aria-pressed": String(one === side), text: { browse: "Browse", narrow: "Filter" }[one],
    on: { click: () => { side = one; drawSide(); } },
  }));

  function drawSide() {
    sides.forEach((button, n) => button.setAttribute("aria-pressed", String(side === ["browse", "narrow"][n])));
    tree.hidden = side !== "browse";
    facets.hidden = side !== "narrow";
  }

  const { drawn, note } = noteOf(model);
  const found = make("section", { class: "cx-found", "aria-label": "Search" }, make("div", { class: "cx-line cx-over" }, shell.told, shell.again, make("span", { class: "cx-gap" }), shell.order),
    shell.fault, shell.chips, shell.results, shell.pager);
  const frame = make("div", { class: "cx-frame" },
    make("div", { class: "cx-bar" }, make("div", { class: "cx-searching" }, box, shell.offers), shell.filter, shell.count),
    make("nav", { class: "cx-side", "aria-label": "Browse and filter" }, make("div", { class: "cx-group" }, sides), tree, facets),
    found,
    make("section", { class: "cx-page", "aria-label": "What is open" }, shell.head, shell.tabs, shell.panel, desk),
    note);
  Object.assign(shell, { found, frame });
  whole.append(shell.away, shell.kept, frame);
  const release = keepKeys(whole, (event) => shell.editorKey(event));
  whole.addEventListener("keydown", (event) => {
    const writing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && event.target.type !== "checkbox";
    if (event.key === "/" && !writing) { event.preventDefault(); box.focus(); box.select(); }
    if (event.key === "Escape" && !writing && !desk.contains(event.target) && (model.get("page") || {}).urn) back();
  });
  drawSide();
  return drawChanges({ model, el }, whole, kernel, {
    find: shell.drawFind, offers: shell.drawOffers, tree: shell.drawTree, page: shell.drawPage, tab: shell.drawTab,
    kept: shell.drawKept, editor: shell.drawEditor, typed: shell.drawTyped, preview: shell.drawPreview, ...drawn,
  }, [release, shell.leaveDrawing, shell.search.cancel, shell.narrow.cancel, shell.typed.cancel]);
}

export default { render };
