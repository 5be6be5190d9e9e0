// Draws what Python says and tells it what the reader does. Before this module's text stands that of
// the other scripts here: each adds a part, its elements and what draws it, to the shell.
let views = 0;

function render({ model, el }) {
  const own = `catalog-explorer-${++views}`;
  let side = "browse";
  const kernel = watchKernel(model, el, () => shell.drawEditor());
  const say = kernel.send;
  const root = () => el.getRootNode();
  const here = () => whole.contains(root().activeElement);

  const redraw = redrawing(root);
  const whole = make("div", { class: "catalog-explorer" });
  const shell = { here, kernel, model, own, redraw, root, say };
  for (const add of [addParts, addBodies, addEntity, addEditor, addSearching, addFolders, addFound]) add(shell);
  const { back, box, desk, facets, tree } = shell;

  const sides = ["browse", "narrow"].map((one) => make("button", {
    type: "button", "aria-pressed": String(one === side), text: { browse: "Browse", narrow: "Filter" }[one],
    on: { click: () => { side = one; drawSide(); } },
  }));

  function drawSide() {
    sides.forEach((button, n) => button.setAttribute("aria-pressed", String(side === ["browse", "narrow"][n])));
    tree.hidden = side !== "browse";
    facets.hidden = side !== "narrow";
  }

  const busy = make("span", { class: "cx-busy" });
  const problem = make("span", { class: "cx-problem", role: "alert" });
  const said = make("span", { class: "cx-said", role: "status" });
  const found = make("section", { class: "cx-found", "aria-label": "Search" }, make("div", { class: "cx-line cx-over" }, shell.told, make("span", { class: "cx-gap" }), shell.order),
    shell.fault, shell.chips, shell.results, shell.pager);
  const frame = make("div", { class: "cx-frame" },
    make("div", { class: "cx-bar" }, make("div", { class: "cx-searching" }, box, shell.offers), shell.filter),
    make("nav", { class: "cx-side", "aria-label": "Browse and filter" }, make("div", { class: "cx-group" }, sides), tree, facets),
    found,
    make("section", { class: "cx-page", "aria-label": "What is open" }, shell.head, shell.tabs, shell.panel, desk),
    make("div", { class: "cx-note" }, busy, problem, said));
  Object.assign(shell, { found, frame });
  whole.append(shell.away, frame);
  const release = keepKeys(whole, (event) => shell.editorKey(event));
  whole.addEventListener("keydown", (event) => {
    const writing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && event.target.type !== "checkbox";
    if (event.key === "/" && !writing) { event.preventDefault(); box.focus(); box.select(); }
    if (event.key === "Escape" && !writing && !desk.contains(event.target) && (model.get("page") || {}).urn) back();
  });
  el.append(whole);
  const unfollow = followTheme(whole);
  const showStill = hideStill(model);

  const drawn = {
    find: shell.drawFind, offers: shell.drawOffers, tree: shell.drawTree, page: shell.drawPage, tab: shell.drawTab,
    editor: shell.drawEditor, typed: shell.drawTyped, preview: shell.drawPreview,
    busy: () => { busy.textContent = model.get("busy"); },
    problem: () => { problem.textContent = model.get("problem"); },
    said: () => { said.textContent = model.get("said"); },
  };
  for (const [name, draw] of Object.entries(drawn)) {
    drawn[name] = () => keepFocus(whole, draw);
    model.on(`change:${name}`, drawn[name]);
    draw();
  }
  drawSide();
  kernel.look();
  return () => {
    release();
    unfollow();
    shell.leaveDrawing();
    showStill();
    kernel.release();
    for (const [name, draw] of Object.entries(drawn)) model.off(`change:${name}`, draw);
    for (const one of [shell.search, shell.narrow, shell.typed]) one.cancel();
  };
}

export default { render };
