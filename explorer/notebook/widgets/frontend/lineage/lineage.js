// Lineage drawn as SVG. Python says what is drawn and where; here it is looked at, walked and asked
// about. Before this module's text stands that of host.js.
const SIDES = { up: "UPSTREAM", down: "DOWNSTREAM" };

// Elements of a page and of a drawing. Every text is set as text.
const SVG = "http://www.w3.org/2000/svg";
const DRAWN = new Set(["g", "path", "rect", "svg", "text", "title"]);

function make(tag, attributes = {}, ...inside) {
  const element = DRAWN.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value);
  }
  element.append(...inside.filter((one) => one != null));
  return element;
}

function render({ model, el }) {
  let picture = model.get("picture") || {};
  let nodes = new Map(), boxes = new Map(), lines = [], focus = "", found = [];
  let view = { x: 0, y: 0, k: 1 }, fitted = "", moved = false, saving = 0, wantsNames = false, step = {};

  const kernel = watchKernel(model, el, () => tell()), send = kernel.send;
  const button = (text, label, click, more = {}) =>
    make("button", { type: "button", "aria-label": label, title: label, click, ...more }, text);

  // The bar above.
  const back = button("←", "Back to the previous starting entity", () => send("back"), { class: "cx-quiet" });
  const hops = make("select", { "aria-label": "hops", change: () => send("hops", { hops: +hops.value }) });
  for (let n = 1; n <= 20; n++) hops.append(make("option", { value: n }, `${n} hop${n === 1 ? "" : "s"}`));
  const direction = make("select", {
    "aria-label": "direction", change: () => send("direction", { direction: direction.value }),
  }, make("option", { value: "BOTH" }, "both ways"),
  make("option", { value: "UPSTREAM" }, "upstream only"), make("option", { value: "DOWNSTREAM" }, "downstream only"));
  const search = make("input", {
    type: "search", placeholder: "find in the graph  /", "aria-label": "Find in the graph", input: () => seek(),
    keydown: (event) => {
      if (event.key === "Enter") { event.preventDefault(); seek(event.shiftKey ? -1 : 1); }
      if (event.key === "Escape") { search.value = ""; seek(); reach(focus); }
    },
  });
  const matches = make("span", { class: "cx-count", "aria-live": "polite" });
  const filters = make("div", { class: "cx-menu" });
  const filter = make("details", {}, make("summary", { "aria-label": "Filter by type and platform" }, "Filter"), filters);
  const exports = make("details", {}, make("summary", {}, "Export"), make("div", { class: "cx-menu" },
    button("SVG picture", "Save the picture as SVG", () => { exports.open = false; keepSvg(); }),
    button("PNG picture", "Save the picture as PNG", () => { exports.open = false; keepPng(); }),
    button("GraphML, all that was read", "Save everything that was read as GraphML",
      () => { exports.open = false; send("graphml"); })));
  const zooms = make("span", { class: "cx-group", role: "group", "aria-label": "Zoom" },
    button("−", "Zoom out", () => zoom(1 / 1.25)), button("+", "Zoom in", () => zoom(1.25)),
    button("Fit", "Show the whole picture", () => fit(0)));
  const bar = make("div", { class: "cx-bar" }, back, direction, hops, filter, search, matches,
    make("span", { class: "cx-gap" }), zooms, exports);

  // The stage.
  const layer = make("g"), svg = make("svg", { role: "group", "aria-label": "Lineage" }, layer);
  const stage = make("div", { class: "cx-stage" }, svg);
  const note = make("div", { class: "cx-note", role: "status", "aria-live": "polite" });
  const said = make("span", { class: "cx-said" }), busy = make("span", { class: "cx-busy" });
  const problem = make("span", { class: "cx-problem", role: "alert" });
  const more = button("Show more", "Draw more of what was read", () => send("more"), { class: "cx-more" });
  const beyond = make("span", { class: "cx-beyond", "aria-hidden": "true" }, "The picture goes on: drag it, or Fit shows all of it.");
  note.append(said, busy, problem, more, beyond);
  const here = make("section", { class: "cx-here", "aria-label": "What is selected" });
  const list = make("ul");
  const asList = make("details", { class: "cx-aslist", toggle: () => asList.open && tellList() },
    make("summary", {}, "As a list"), list);
  const keys = make("div", { class: "cx-keys" },
    "arrows move · space expands · Enter starts from there · + − hops · u d B direction · / find · c columns · z centre · Home start · Esc back");
  const root = make("div", { class: "catalog-lineage" }, bar, note, stage, here, make("div", { class: "cx-foot" }, asList, keys));
  const release = keepKeys(root);
  // The document's own is the host of the shadow root that some applications show widgets in.
  const active = () => root.getRootNode().activeElement;

  function drawAll() {
    picture = model.get("picture") || {};
    const before = nodes.get(focus), had = layer.contains(active());
    nodes = new Map((picture.nodes || []).map((node) => [node.id, node]));
    boxes = new Map();
    lines = [];
    const edges = make("g", { class: "cx-edges" }), links = make("g", { class: "cx-links" }), all = make("g");
    for (const edge of picture.edges || []) {
      const line = make("path", { d: edge.d, class: edge.indirect ? "cx-edge cx-indirect" : "cx-edge" });
      const about = `columns from ${nodes.get(edge.s).name} to ${nodes.get(edge.t).name}`;
      const wide = make("path", { d: edge.d, class: "cx-wide", click: () => send("edge", { source: edge.s, target: edge.t }) },
        make("title", {}, about));
      edges.append(line, wide);
      lines.push({ ...edge, line });
    }
    for (const link of picture.links || []) links.append(make("path", { d: link.d, class: link.guess ? "cx-link cx-guess" : "cx-link" },
      make("title", {}, link.guess ? "guess: same name" : "from the catalog")));
    for (const node of nodes.values()) { const box = boxOf(node); boxes.set(node.id, box); all.append(box); }
    layer.replaceChildren(edges, links, all);
    root.classList.toggle("cx-columns", !!(picture.links || []).length);
    svg.setAttribute("aria-label", `Lineage, ${nodes.size} entities`);
    hops.value = picture.hops || 1;
    direction.value = picture.direction || "BOTH";
    back.hidden = !picture.back;
    more.hidden = !picture.more;
    tellFilter();
    if (!nodes.has(focus)) focus = nodes.has(model.get("selected")) ? model.get("selected") : picture.root || "";
    if (fitted && fitted !== picture.root && nodes.has(picture.root)) focus = picture.root;
    const now = nodes.get(focus);
    // Names that are read later widen the boxes: until the reader does something, all is fitted again.
    if (fitted !== picture.root || !moved) { moved &&= fitted === picture.root; fitted = picture.root || ""; if (nodes.size) begin(); }
    else if (before && now) { view.x += (before.x - now.x) * view.k; view.y += (before.y - now.y) * view.k; place(); }
    light();
    if (search.value) seek();
    if (had) boxes.get(focus)?.focus({ preventScroll: true });
    if (asList.open) tellList();
  }

  function boxOf(node) {
    const box = make("g", {
      class: `cx-node cx-${node.state}${node.id === picture.root ? " cx-root" : ""}`, transform: `translate(${node.x} ${node.y})`,
      tabindex: -1, role: "button", "aria-label": node.spoken, style: `--kind:${node.colour}`,
      click: () => go(node.id, true), dblclick: () => start(node.id),
      focus: () => { if (focus !== node.id) go(node.id); },
    }, make("title", {}, `${node.whole}\n${node.id}`),
    make("rect", { class: "cx-box", width: node.w, height: node.h, rx: 6 }),
    make("rect", { class: "cx-stripe", x: 1, y: 5, width: 4, height: node.h - 10, rx: 2, fill: node.colour }));
    const name = make("text", { class: "cx-name", x: 13, y: 17 }, node.sign + node.name);
    const facts = make("text", { class: "cx-facts", x: 13, y: 32 }, node.words);
    box.append(name, facts);
    node.ports.forEach((port, at) => box.append(
      make("path", { class: "cx-rule", d: `M8 ${44 + at * 18}H${node.w - 8}` }),
      make("text", { class: "cx-port", x: 13, y: 57 + at * 18 }, port)));
    for (const side of ["up", "down"]) {
      const held = node[side], out = side === "up" ? -1 : 1;
      if (!held.hidden && !held.open) continue;
      const text = held.hidden ? `+${held.hidden}` : "−", wide = 16 + 6.5 * (text.length - 1);
      const what = held.hidden ? `Show ${held.hidden} more ${side}stream` : `Hide what is ${side}stream`;
      box.append(make("g", {
        class: held.hidden ? "cx-badge" : "cx-badge cx-fold", transform: `translate(${out < 0 ? -wide / 2 - 8 : node.w + wide / 2 + 2} 20)`, "data-side": side, "aria-hidden": "true",
        click: (event) => { event.stopPropagation(); go(node.id, true); unfold(node, side); },
        dblclick: (event) => event.stopPropagation(),
      }, make("title", {}, what), make("rect", { x: -wide / 2, y: -9, width: wide, height: 18, rx: 9 }),
      make("text", { y: 4, "text-anchor": "middle" }, text)));
    }
    return box;
  }

  function unfold(node, side) {
    send(node[side].hidden || !node[side].open ? "unfold" : "fold", { urn: node.id, side: SIDES[side] });
  }

  // Where the reader is.
  function go(urn, quiet) {
    if (!nodes.has(urn)) return;
    focus = urn;
    light();
    reach(urn, quiet);
    clearTimeout(saving);
    saving = setTimeout(() => { model.set("selected", urn); model.save_changes(); }, 120);
  }

  function reach(urn, quiet) {
    const box = boxes.get(urn), node = nodes.get(urn);
    if (!box) return;
    if (active() !== box) box.focus({ preventScroll: true });
    if (quiet) return;
    // Brought into view, no further than is needed.
    const { width, height } = stage.getBoundingClientRect(), room = 24;
    const left = node.x * view.k + view.x, top = node.y * view.k + view.y;
    view.x += Math.max(room - left, 0) || Math.min(width - room - left - node.w * view.k, 0);
    view.y += Math.max(room - top, 0) || Math.min(height - room - top - node.h * view.k, 0);
    place();
  }

  function start(urn) { if (urn && urn !== picture.root) { focus = urn; send("root", { urn }); } }

  function reached(from, first, last) {
    const seen = new Set([from]), next = new Map();
    for (const one of lines) { if (!next.has(one[first])) next.set(one[first], []); next.get(one[first]).push(one[last]); }
    for (const at of seen) for (const other of next.get(at) || []) seen.add(other);
    return seen;
  }

  function light() {
    const away = !!focus && focus !== picture.root;
    const above = reached(focus, "t", "s"), below = reached(focus, "s", "t");
    root.classList.toggle("cx-following", away);
    for (const [urn, box] of boxes) {
      box.setAttribute("tabindex", urn === focus ? 0 : -1);
      box.classList.toggle("cx-focus", urn === focus);
      box.classList.toggle("cx-way", above.has(urn) || below.has(urn));
      if (urn === focus) box.setAttribute("aria-current", "true"); else box.removeAttribute("aria-current");
    }
    for (const one of lines) one.line.classList.toggle("cx-way",
      away && ((above.has(one.s) && above.has(one.t)) || (below.has(one.s) && below.has(one.t))));
    tellHere();
  }

  function tellHere() {
    const node = nodes.get(focus);
    here.hidden = !node;
    if (!node) return;
    const acts = make("div", { class: "cx-acts" });
    for (const side of ["up", "down"]) {
      const held = node[side], word = `${side}stream`;
      if (held.hidden || !held.known) acts.append(button(held.hidden ? `+${held.hidden} ${word}` : `+ ${word}`,
        `Show more ${word}`, () => send("unfold", { urn: node.id, side: SIDES[side] })));
      if (held.open) acts.append(button(`− ${word}`, `Hide what is ${word}`, () => send("fold", { urn: node.id, side: SIDES[side] })));
    }
    if (model.get("opens")) acts.append(button("Open", "Open its page", () => send("open", { urn: node.id })));
    if (node.id !== picture.root) acts.append(button("Start here", "See the lineage from here", () => start(node.id)));
    if (node.entity === "dataset") acts.append(columnsOf(node));
    if (picture.about) acts.append(button("Tables only", "Hide the columns", () => send("tables")));
    here.replaceChildren(...[
      make("div", { class: "cx-line" }, make("strong", {}, ...breakable(node.whole)), copyButton(node.whole, `Copy the name ${node.whole}`), make("span", { class: "cx-dim" }, [node.words, node.far].filter(Boolean).join(" · "))),
      node.text ? make("div", { class: "cx-text" }, node.text) : null,
      make("div", { class: "cx-line" }, make("code", {}, node.id), copyButton(node.id, "Copy the URN")), picture.about ? make("div", { class: "cx-about" }, `Shown: ${picture.about}; dashed is a guess by name`) : null, acts].filter(Boolean));
    if (wantsNames && picture.names?.urn === node.id) { wantsNames = false; here.querySelector("select")?.focus(); }
  }

  function columnsOf(node) {
    const names = picture.names;
    if (names?.urn !== node.id) return button("Columns …", "Choose a column to follow", () => askNames(node.id));
    const choice = make("select", {
      "aria-label": "Follow a column", change: () => choice.value && send("column", { urn: node.id, column: choice.value }),
    }, make("option", { value: "" }, `follow one of ${names.columns.length} columns`));
    for (const name of names.columns) choice.append(make("option", { value: name }, name));
    return choice;
  }

  function askNames(urn) { wantsNames = true; send("names", { urn }); }

  function tellFilter() {
    const boxesOf = (of, entries) => entries?.length ? make("fieldset", {}, make("legend", {}, of), ...entries.map((one) => {
      const input = make("input", { type: "checkbox", change: narrow, "data-of": of, "data-name": one.name });
      input.checked = one.on;
      return make("label", {}, input, ` ${one.name} `, make("span", { class: "cx-dim" }, `${one.count}`));
    })) : null;
    const at = filters.querySelector(":focus")?.dataset;
    filters.replaceChildren(...[boxesOf("type", picture.types), boxesOf("platform", picture.platforms)].filter(Boolean));
    if (at) [...inputs()].find((one) => one.dataset.of === at.of && one.dataset.name === at.name)?.focus();
    const off = inputs(":not(:checked)").length;
    filter.firstChild.textContent = off ? `Filter (${off} off)` : "Filter";
  }

  const inputs = (which = "") => filters.querySelectorAll(`input${which}`);

  function narrow() {
    const off = (of) => [...inputs(":not(:checked)")].filter((one) => one.dataset.of === of).map((one) => one.dataset.name);
    send("narrow", { type: off("type"), platform: off("platform") });
  }

  function seek(step = 0) {
    const text = search.value.trim().toLowerCase();
    found = text ? [...nodes.values()].filter((one) => `${one.whole} ${one.id} ${one.words}`.toLowerCase().includes(text)).map((one) => one.id) : [];
    for (const [urn, box] of boxes) box.classList.toggle("cx-found", found.includes(urn));
    root.classList.toggle("cx-seeking", !!text);
    if (step && found.length) {
      const at = found.indexOf(focus);
      const next = found[at < 0 ? 0 : (at + step + found.length) % found.length];
      go(next);
      search.focus();
    }
    matches.textContent = text ? `${found.length} found` : "";
  }

  function tellList() {
    list.replaceChildren(...[...nodes.values()].sort((a, b) => (a.hops ?? 99) - (b.hops ?? 99)).map((node) =>
      make("li", {}, button(node.spoken, node.id, () => go(node.id), { class: "cx-quiet" }))));
  }

  // Moving.
  function place() {
    layer.setAttribute("transform", `translate(${view.x.toFixed(2)} ${view.y.toFixed(2)}) scale(${view.k.toFixed(4)})`);
    const { width, height } = stage.getBoundingClientRect();
    beyond.hidden = !width || (view.x > -1 && view.y > -1 && view.x + (picture.width || 0) * view.k < width + 1 && view.y + (picture.height || 0) * view.k < height + 1);
    // From afar no word can be read: the boxes are their colour, and the lines keep their width.
    stage.classList.toggle("cx-far", view.k < 0.35);
  }

  // As large as a line of a box is legible.
  const LEGIBLE = 0.75;
  for (const kind of ["pointerdown", "keydown", "wheel"]) root.addEventListener(kind, () => { moved = true; }, { capture: true, passive: true });

  // As much of the picture as is legible, on a stage that is tall enough for it, up to a half taller than usual.
  function begin() {
    stage.style.height = "";
    const usual = stage.getBoundingClientRect().height;
    if (usual) stage.style.height = `${Math.min(Math.max(Math.ceil((picture.height || 0) * LEGIBLE) + 56, usual), usual * 1.5)}px`;
    fit(LEGIBLE);
  }

  // The whole picture in the middle, or where it is larger at that scale, as much of it as goes with what has the focus.
  function fit(least) {
    const rect = stage.getBoundingClientRect(), room = 28;
    const width = rect.width || 900, height = rect.height || 420;
    const whole = Math.min((width - 2 * room) / (picture.width || 1), (height - 2 * room) / (picture.height || 1), 1);
    view.k = Math.max(whole, least, 0.04);
    const start = nodes.get(focus) || nodes.get(picture.root);
    const along = (size, at, extent) => size * view.k <= extent - 2 * room ? (extent - size * view.k) / 2
      : Math.min(room, Math.max(extent - room - size * view.k, extent / 2 - at * view.k));
    view.x = along(picture.width || 0, start ? start.x + start.w / 2 : 0, width);
    view.y = along(picture.height || 0, start ? start.y + start.h / 2 : 0, height);
    place();
  }

  function zoom(by, x, y) {
    const { width, height } = stage.getBoundingClientRect(), k = Math.min(Math.max(view.k * by, 0.04), 3);
    x ??= width / 2; y ??= height / 2;
    view = { x: x - (x - view.x) * k / view.k, y: y - (y - view.y) * k / view.k, k };
    place();
  }

  function centre() {
    const node = nodes.get(focus), { width, height } = stage.getBoundingClientRect();
    if (node) { view.x = width / 2 - (node.x + node.w / 2) * view.k; view.y = height / 2 - (node.y + node.h / 2) * view.k; place(); }
  }

  // The wheel scrolls the notebook until the drawing has the focus, or Ctrl is held.
  stage.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !stage.contains(active())) return;
    event.preventDefault();
    const rect = stage.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 400), event.clientX - rect.left, event.clientY - rect.top);
  }, { passive: false });
  let pulled = null;
  svg.addEventListener("pointerdown", (event) => {
    if (event.button || event.target.closest(".cx-node, .cx-wide")) return;
    pulled = { x: event.clientX - view.x, y: event.clientY - view.y };
    svg.setPointerCapture(event.pointerId);
    stage.classList.add("cx-pulled");
  });
  svg.addEventListener("pointermove", (event) => {
    if (pulled) { view.x = event.clientX - pulled.x; view.y = event.clientY - pulled.y; place(); }
  });
  for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => { pulled = null; stage.classList.remove("cx-pulled"); });

  function walk(key) {
    const here = nodes.get(focus);
    if (!here) return go(picture.root);
    // The opposite key leads back to where the last one began.
    const opposite = { ArrowLeft: "ArrowRight", ArrowRight: "ArrowLeft", ArrowUp: "ArrowDown", ArrowDown: "ArrowUp" }[key];
    const begin = step.key === opposite && step.to === focus ? nodes.get(step.from) : null;
    const along = /Left|Right/.test(key), back = /Left|Up/.test(key);
    const [a, n, b, m] = along ? ["x", "w", "y", "h"] : ["y", "h", "x", "w"];
    const ahead = [...nodes.values()].filter((one) => back ? one[a] + one[n] <= here[a] : one[a] >= here[a] + here[n]);
    const joined = new Set(lines.flatMap((one) => one.s === focus ? [one.t] : one.t === focus ? [one.s] : []));
    const liked = ahead.filter((one) => along ? joined.has(one.id) : one.x < here.x + here.w && here.x < one.x + one.w);
    const apart = (one, at, size) => Math.abs(one[at] + one[size] / 2 - here[at] - here[size] / 2);
    const far = (one) => apart(one, a, n) + 4 * apart(one, b, m);
    const next = begin || (liked.length ? liked : ahead).sort((one, two) => far(one) - far(two))[0];
    if (!next) return;
    step = { key, from: focus, to: next.id };
    go(next.id);
  }

  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const node = nodes.get(focus), now = picture.hops || 1;
    const acts = {
      Home: () => go(picture.root), Enter: () => start(focus), z: centre,
      " ": () => { if (node) for (const side of openings(node)) unfold(node, side); },
      "+": () => send("hops", { hops: Math.min(now + 1, 20) }), "-": () => now > 1 && send("hops", { hops: now - 1 }),
      u: () => send("direction", { direction: "UPSTREAM" }), d: () => send("direction", { direction: "DOWNSTREAM" }),
      B: () => send("direction", { direction: "BOTH" }), "/": () => search.focus(), f: () => { filter.open = true; filters.querySelector("input")?.focus(); },
      c: () => node?.entity === "dataset" && askNames(focus),
      Escape: () => { if (search.value) { search.value = ""; seek(); } else if (picture.about) send("tables"); else go(picture.root); },
    };
    acts["="] = acts["+"];
    if (event.key.startsWith("Arrow")) walk(event.key);
    else if (acts[event.key]) acts[event.key]();
    else return;
    // The page does not take the key as well.
    event.preventDefault();
  }

  function openings(node) {
    const hidden = ["up", "down"].filter((side) => node[side].hidden);
    return hidden.length ? hidden : ["up", "down"].filter((side) => node[side].open);
  }
  svg.addEventListener("keydown", pressed);
  bar.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { filter.open = exports.open = false; reach(focus); }
  });

  // Files.
  function keep(content, ending, type) {
    const name = (nodes.get(picture.root)?.whole || "entity").replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 60);
    save(content, `lineage-${name}.${ending}`, type);
  }

  function keepSvg() { keep(standing(svg, stage, picture), "svg", "image/svg+xml"); }

  function keepPng() { asPng(standing(svg, stage, picture), (blob) => keep(blob, "png", "image/png")); }

  // What Python tells.
  const tell = () => {
    said.textContent = model.get("said") || "";
    busy.textContent = model.get("busy") || "";
    problem.textContent = AWAY[kernel.is()] || model.get("problem") || "";
    root.classList.toggle("cx-working", !!model.get("busy"));
  };
  const turned = () => {
    const urn = model.get("selected");
    // What the kernel says is newer than what it was going to be told.
    clearTimeout(saving);
    if (urn !== focus && nodes.has(urn)) { focus = urn; light(); }
  };
  const heard = (message) => { if (message?.kind === "graphml") keep(message.text, "graphml", "application/xml"); };
  const end = drawChanges({ model, el }, root, kernel, { picture: drawAll, said: tell, busy: tell, problem: tell }, [release]);
  // These come after what draws the picture, in which the selected node may be new.
  const listeners = [["change:selected", turned], ["msg:custom", heard]];
  for (const [name, call] of listeners) model.on(name, call);
  // In a cell that is not on the page yet nothing has a size.
  const sized = new ResizeObserver(() => { if (stage.clientWidth && nodes.size && !moved) begin(); });
  sized.observe(stage);
  return () => {
    end();
    for (const [name, call] of listeners) model.off(name, call);
    clearTimeout(saving);
    sized.disconnect();
    root.remove();
  };
}

// Pictures and other files that leave the page.
const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight", "font-style", "text-decoration-line"];

// A drawing as a file of its own: whole, at its own size, with the colours of the page.
function standing(svg, stage, { width = 0, height = 0 }) {
  const far = stage.classList.contains("cx-far"), room = 48;
  stage.classList.remove("cx-far");
  const copy = svg.cloneNode(true), from = svg.querySelectorAll("*"), to = copy.querySelectorAll("*");
  from.forEach((element, at) => {
    const style = getComputedStyle(element);
    for (const name of STYLES) to[at].setAttribute(name.replace("-line", ""), style.getPropertyValue(name));
    for (const name of ["tabindex", "role", "class", "style"]) to[at].removeAttribute(name);
    if (element.matches(".cx-wide, .cx-badge.cx-fold")) to[at].setAttribute("display", "none");
  });
  const ground = getComputedStyle(stage).backgroundColor;
  stage.classList.toggle("cx-far", far);
  width += 2 * room;
  height += 2 * room;
  copy.firstElementChild.setAttribute("transform", `translate(${room} ${room})`);
  copy.prepend(make("rect", { width, height, fill: ground }));
  for (const [name, value] of Object.entries({ xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}` })) copy.setAttribute(name, value);
  return new XMLSerializer().serializeToString(copy);
}

function asPng(drawn, then) {
  const image = new Image();
  image.onload = () => {
    const scale = Math.min(2, 8192 / Math.max(image.width, image.height));
    const canvas = make("canvas", { width: Math.ceil(image.width * scale), height: Math.ceil(image.height * scale) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => blob && then(blob), "image/png");
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawn)}`;
}

function save(content, name, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export default { render };
