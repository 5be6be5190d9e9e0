// The page of an entity: its heading, its tabs, and what they show.
const TABS = {
  overview: "Overview", columns: "Columns", lineage: "Lineage", usage: "Usage", profile: "Profile",
  history: "History",
};

function addEntity(shell) {
  const { model, own, redraw, root, say } = shell;
  const head = make("div", { class: "cx-head" });
  const tabs = make("div", { class: "cx-tabs", role: "tablist", "aria-label": "Tabs", on: { keydown: tabsKey } });
  const panel = make("div", { class: "cx-panel", role: "tabpanel", id: `${own}-panel`, tabindex: "0" });
  let seen = null, left = "";

  function open(urn) {
    left = urn;
    seen = "go";
    say("open", { urn });
  }

  function drawPage() {
    const shown = model.get("page") || {};
    shell.frame.classList.toggle("cx-open", Boolean(shown.urn));
    shell.drawTree();
    shell.drawFind();
    if (!shown.urn) {
      if (seen === "back") ([...shell.results.querySelectorAll(".cx-hit")].find((one) => one.dataset.f === left) || shell.box).focus();
      seen = null;
      return;
    }
    redraw(head,
      make("div", { class: "cx-line" },
        make("h3", { tabindex: "-1", "data-f": "name" }, ...breakable(shown.name)),
        copyButton(shown.name, `copy the name ${shown.name}`, { "data-f": "copy name" }),
        make("span", { class: "cx-dim", text: (shown.facts || []).join(" · ") }),
        make("span", { class: "cx-gap" }),
        shown.tabs?.length && !shown.why_not ? make("button", { type: "button", "data-f": "edit", text: (shown.drafts || []).includes(null) ? "✎ Go on writing" : "✎ Edit description", on: { click: () => say("edit") } }) : null,
        make("button", { type: "button", class: "cx-quiet", "data-f": "back", title: "back to the results", "aria-label": "close, back to the results", text: "✕",
          on: { click: back } })),
      make("div", { class: "cx-urn" }, shown.urn, copyButton(shown.urn, "copy the URN", { "data-f": "copy urn" })),
      (shown.states || []).map((one) => make("div", { class: "cx-state", text: one })),
      shown.why_not ? make("div", { class: "cx-dim", text: shown.why_not }) : null,
      (shown.drafts || []).length ? make("div", { class: "cx-dim", text: `${shown.drafts.length} ${shown.drafts.length === 1 ? "draft is" : "drafts are"} kept here, not saved` }) : null);
    drawTabs();
    // Its rows say which columns have a draft, and whether they may be edited.
    if ((model.get("tab") || {}).tab === "columns") drawTab();
    if (seen === "go") { head.querySelector("h3").focus({ preventScroll: true }); panel.scrollTop = 0; }
    seen = null;
  }

  function back() {
    seen = "back";
    say("back");
  }

  function drawTabs() {
    const shown = model.get("page") || {}, now = (model.get("tab") || {}).tab;
    redraw(tabs, (shown.tabs || []).map((one) => make("button", {
      type: "button", role: "tab", id: `${own}-tab-${one}`, "data-f": one, "aria-selected": String(one === now), "aria-controls": `${own}-panel`,
      tabindex: one === now ? "0" : "-1", text: TABS[one] || one, on: { click: () => turn(one) },
    })));
    panel.setAttribute("aria-labelledby", `${own}-tab-${now}`);
  }

  function turn(tab) {
    if (model.get("editor")?.urn) { shell.flush(); say("leave"); }
    say("tab", { tab });
  }

  function tabsKey(event) {
    const all = (model.get("page") || {}).tabs || [];
    const here = all.indexOf((model.get("tab") || {}).tab);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || here < 0) return;
    event.preventDefault();
    const next = all[(here + step + all.length) % all.length];
    for (const one of tabs.children) if (one.dataset.f === next) { one.tabIndex = 0; one.focus(); }
    turn(next);
  }

  function drawTab() {
    const shown = model.get("tab") || {};
    drawTabs();
    if (shown.tab !== "lineage" || shown.reading || !shown.sides) shell.leaveDrawing();
    if (!shown.tab) { redraw(panel); return; }
    if (shown.reading) { redraw(panel, make("p", { class: "cx-dim", text: "reading …" })); return; }
    const body = shell.bodies[shown.tab];
    const parts = shell.drawParts(shown.parts);
    redraw(panel, body ? body(shown, parts) : parts);
  }

  Object.assign(shell, { back, drawPage, drawTab, head, open, panel, tabs });
}

// What the tabs of an entity show that is more than an object shows of itself.

// The lineage widget's model, within the explorer's: what it shows is `drawing`, what it is told and
// tells goes through messages of the kind "drawing".
function drawingModel(model) {
  const heard = new Map();
  return {
    get: (name) => name === "opens" ? true : (model.get("drawing") || {})[name],
    set: (name, value) => { if (name === "selected") model.send({ kind: "drawing", told: { kind: "selected", urn: value } }); },
    save_changes: () => {},
    send: (told) => model.send({ kind: "drawing", told }),
    on: (name, call) => {
      const part = name.startsWith("change:") ? name.slice(7) : "", outer = part ? "change:drawing" : name;
      const now = () => JSON.stringify((model.get("drawing") || {})[part]);
      let known = part && now();
      const hear = part ? () => { const told = now(); if (told !== known) { known = told; call(); } }
        : name === "msg:custom" ? (message) => { if (message?.kind === "drawing") call(message.told); } : call;
      heard.set(call, [...(heard.get(call) || []), [name, outer, hear]]);
      model.on(outer, hear);
    },
    off: (name, call) => {
      for (const [of, outer, hear] of heard.get(call) || []) if (of === name) model.off(outer, hear);
      heard.set(call, (heard.get(call) || []).filter(([of]) => of !== name));
    },
  };
}

function addBodies(shell) {
  const { model, say } = shell;
  const narrow = later((text) => say("tab", { tab: "columns", text, most: 100 }));

  function overview(shown, parts) {
    if (!shown.facts) return parts;
    const texts = (shown.texts || []).map((one) => make("section", {},
      make("h4", {}, "Description ", make("span", { class: "cx-dim", text: one.label })),
      make("div", { class: "cx-prose" }, ...grown(one.tree))));
    return [
      ...(texts.length ? texts : [make("p", { class: "cx-dim", text: "no description" })]),
      make("dl", {}, shown.facts.map((one) => [make("dt", { text: one.name }),
        make("dd", {}, one.text || (one.ways.length ? one.ways.map(shell.way) : make("span", { class: "cx-dim", text: one.none || "none" })))])),
      ...parts,
    ];
  }

  function columns(shown, parts) {
    if (!shown.columns) return parts;
    const why = (model.get("page") || {}).why_not, drafts = (model.get("page") || {}).drafts || [];
    return [
      make("div", { class: "cx-line" },
        make("input", { type: "search", "data-f": "columns", "aria-label": "Filter the columns", placeholder: "Filter, such as is:undocumented", value: shown.text || "", on: { input: (event) => narrow(event.target.value) } }),
        make("span", { class: "cx-dim", text: shown.said })),
      make("table", { class: "cx-columns" },
        make("thead", {}, make("tr", {}, ["column", "type", "description", ""].map((one) => make("th", { scope: "col", text: one })))),
        make("tbody", {}, shown.columns.map((one) => make("tr", {},
          make("td", { class: "cx-name", style: `padding-left:${one.indent * 14}px` }, ...breakable(one.name), one.key ? [" ", make("span", { class: "cx-tag", text: one.key })] : null,
            one.labels.map((label) => [" ", make("span", { class: "cx-tag", text: label })])),
          make("td", { class: "cx-dim", text: one.type }),
          make("td", {}, one.text.length ? [one.mark ? make("span", { class: "cx-edited", title: "edited", text: `${one.mark} ` }) : null, grown(one.text)] : make("span", { class: "cx-dim", text: "no description" }),
            one.earlier ? make("div", { class: "cx-dim cx-small", text: one.earlier }) : null,
            one.ingested.length ? make("div", { class: "cx-dim cx-small" }, "from ingestion: ", grown(one.ingested)) : null),
          make("td", {}, why ? null : make("button", { type: "button", class: "cx-quiet", "data-f": `edit ${one.path}`, "aria-label": `edit the description of ${one.name}`,
            text: drafts.includes(one.path) ? "✎ draft" : "✎", on: { click: () => say("edit", { path: one.path }) } })))))),
      shown.more ? make("button", { type: "button", "data-f": "more", text: `show more (${shown.more.toLocaleString("en")} left)`,
        on: { click: () => say("tab", { tab: "columns", most: shown.most + 200 }) } }) : null,
      ...parts,
    ];
  }

  // The drawing is that of the lineage widget; it stays while it is looked at, whatever else of the
  // tab is drawn anew.
  let drawing = null;

  function leaveDrawing() {
    drawing?.end();
    drawing = null;
  }

  function drawn(shown) {
    if (drawing?.urn !== shown.urn) {
      leaveDrawing();
      const place = make("div", { class: "cx-drawing" });
      drawing = { urn: shown.urn, place, end: () => {} };
      // In a page already, for there it has a size and an own root.
      queueMicrotask(() => { if (drawing?.place === place) drawing.end = renderLineage({ model: drawingModel(model), el: place }); });
    }
    return drawing.place;
  }

  function lineage(shown, parts) {
    if (!shown.sides) return parts;
    return [
      shown.drawn ? drawn(shown) : null,
      ...parts,
      make("div", { class: "cx-sides" }, shown.sides.map((one) => make("section", {}, make("h4", { text: one.label }),
        make("ul", {}, one.ways.map((next) => make("li", {}, shell.way(next))), one.more ? make("li", { class: "cx-dim", text: `and ${one.more} more` }) : null)))),
    ];
  }

  function history(shown, parts) {
    if (!shown.aspects?.length) return parts;
    return [make("div", { class: "cx-line" }, make("label", {}, "aspect ", make("select", {
      "data-f": "aspect", on: { change: (event) => say("tab", { tab: "history", aspect: event.target.value }) },
    }, shown.aspects.map((one) => make("option", { value: one, text: one, selected: one === shown.aspect }))))), ...parts];
  }

  Object.assign(shell, { bodies: { overview, columns, lineage, history }, leaveDrawing, narrow });
}
