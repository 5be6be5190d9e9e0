// Draws what Python says and tells it what the reader does. Every text is set as text: no HTML is
// ever read here, and elements are made from a short list of names.

const PAUSE_MILLIS = 200;
const FEW_VALUES = 5;
const ELEMENTS = new Set([
  "a", "blockquote", "br", "code", "del", "em", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s",
  "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
]);
const TABS = {
  overview: "Overview", columns: "Columns", lineage: "Lineage", usage: "Usage", profile: "Profile",
  history: "History",
};
let views = 0;

function make(name, options = {}, ...children) {
  const { text, on, ...attributes } = options;
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  if (text !== undefined) made.textContent = text;
  for (const [event, act] of Object.entries(on || {})) made.addEventListener(event, act);
  made.append(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== ""));
  return made;
}

function leadsOut(address) {
  return /^(https?|mailto):/i.test(address || "");
}

function outward(address, ...children) {
  return make("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, ...children);
}

// `words` are marked in it; within a button nothing may lead elsewhere, so `links` may be left out.
function grown(nodes, words = [], links = true) {
  return (nodes || []).flatMap((node) => {
    if (typeof node === "string") return marked(node, words);
    const [name, address, inside] = node;
    const below = grown(inside, words, links);
    if (name === "a" && links && leadsOut(address)) return outward(address, ...below);
    return make(ELEMENTS.has(name) && name !== "a" ? name : "span", {}, ...below);
  });
}

function marked(text, words) {
  const wanted = (words || []).filter(Boolean).map((one) => one.toLowerCase());
  const lowered = (text || "").toLowerCase();
  const pieces = [];
  let at = 0;
  while (at < lowered.length) {
    let next = -1, size = 0;
    for (const word of wanted) {
      const found = lowered.indexOf(word, at);
      if (found >= 0 && (next < 0 || found < next || (found === next && word.length > size))) {
        next = found;
        size = word.length;
      }
    }
    if (next < 0) break;
    if (next > at) pieces.push(text.slice(at, next));
    pieces.push(make("mark", { text: text.slice(next, next + size) }));
    at = next + size;
  }
  return [...pieces, (text || "").slice(at)];
}

function later(act) {
  let waiting = null;
  const run = (...given) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { waiting = null; act(...given); }, PAUSE_MILLIS);
  };
  run.cancel = () => { clearTimeout(waiting); waiting = null; };
  run.waits = () => waiting !== null;
  return run;
}

function render({ model, el }) {
  const own = `catalog-explorer-${++views}`;
  let seq = 0, put = null, active = -1, wanted = "", side = "browse", left = "";
  const wide = new Set();
  const say = (kind, more = {}) => model.send({ kind, seq: ++seq, ...more });
  const root = () => el.getRootNode();

  // Whatever is drawn anew, the focus and the place in a text stay.
  function redraw(place, ...children) {
    const at = root().activeElement;
    const held = at && place.contains(at) ? at.dataset.f : undefined;
    const span = held && at.tagName === "INPUT" && at.type === "search" ? [at.selectionStart, at.selectionEnd] : null;
    const top = place.scrollTop;
    place.replaceChildren(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== ""));
    place.scrollTop = top;
    if (held === undefined) return;
    const again = [...place.querySelectorAll("[data-f]")].find((one) => one.dataset.f === held);
    again?.focus({ preventScroll: true });
    if (again && span) again.setSelectionRange(...span);
  }

  // The search box and what completes it.

  const search = later(() => say("search", { text: box.value, filter: filter.value }));
  const box = make("input", {
    type: "search", class: "box", role: "combobox", placeholder: "Search names, columns, descriptions …",
    "aria-label": "Search the catalog", "aria-autocomplete": "list", "aria-expanded": "false",
    "aria-controls": `${own}-offers`, autocomplete: "off", spellcheck: "false",
    on: {
      input: () => { wanted = box.value.trim(); fold(); search(); },
      keydown: boxKey,
      blur: () => setTimeout(fold, 120),
    },
  });
  const offers = make("ul", { id: `${own}-offers`, role: "listbox", class: "offers", "aria-label": "Completions", hidden: true });
  const filter = make("input", {
    type: "search", class: "filter", placeholder: "Filter, such as platform:snowflake", autocomplete: "off",
    "aria-label": "Filter, such as platform:snowflake AND tags:PII", "aria-describedby": `${own}-fault`, spellcheck: "false",
    on: { input: () => search(), keydown: (event) => { if (event.key === "Enter") ask(); } },
  });
  const order = make("select", {
    "aria-label": "Order of the results", on: { change: () => say("order", { order: order.value }) },
  }, (model.get("orders") || []).map(([value, words]) => make("option", { value, text: words })));

  function ask() {
    search.cancel();
    say("search", { text: box.value, filter: filter.value });
  }

  function fold() {
    offers.hidden = true;
    active = -1;
    box.setAttribute("aria-expanded", "false");
    box.removeAttribute("aria-activedescendant");
  }

  function drawOffers() {
    const told = model.get("offers") || {};
    const rows = told.rows || [];
    const fits = rows.length && told.for === wanted && wanted && root().activeElement === box;
    if (!fits) { fold(); return; }
    active = -1;
    box.removeAttribute("aria-activedescendant");
    offers.replaceChildren(...rows.map((one, at) => make("li", {
      role: "option", id: `${own}-offer-${at}`, "aria-selected": "false",
      on: { mousedown: (event) => { event.preventDefault(); take(one); } },
    },
      make("span", { class: "name" }, ...marked(one.text, wanted.split(/\s+/))), " ",
      make("span", { class: "dim", text: [one.kind, one.platform].filter(Boolean).join(" · ") }))));
    offers.hidden = false;
    box.setAttribute("aria-expanded", "true");
  }

  function take(one) {
    search.cancel();
    fold();
    wanted = "";
    if (one.urn) open(one.urn);
    else { box.value = one.text; ask(); }
  }

  function boxKey(event) {
    const rows = offers.hidden ? [] : [...offers.children];
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!rows.length) {
        if (event.key === "ArrowDown") results.querySelector(".hit")?.focus();
        return;
      }
      active = event.key === "ArrowDown" ? (active + 1) % rows.length : (active <= 0 ? rows.length : active) - 1;
      rows.forEach((row, at) => row.setAttribute("aria-selected", String(at === active)));
      rows[active].scrollIntoView({ block: "nearest" });
      box.setAttribute("aria-activedescendant", rows[active].id);
    } else if (event.key === "Enter") {
      event.preventDefault();
      const told = (model.get("offers") || {}).rows || [];
      if (rows.length && active >= 0 && told[active]) { take(told[active]); return; }
      const text = box.value.trim();
      wanted = "";
      fold();
      if (text.startsWith("urn:li:")) { search.cancel(); open(text); } else ask();
    } else if (event.key === "Escape" && rows.length) {
      event.preventDefault();
      wanted = "";
      fold();
    }
  }

  // The folders.

  const tree = make("div", { role: "tree", class: "tree", "aria-label": "Folders of the catalog", on: { keydown: treeKey } });
  let at = "";

  function drawTree() {
    const rows = model.get("tree") || [];
    const opened = (model.get("page") || {}).urn || "";
    if (!rows.some((one) => one.key === at)) at = rows.length ? rows[0].key : "";
    redraw(tree, rows.length ? rows.map((one) => treeRow(one, opened)) : make("p", { class: "dim pad", text: "reading …" }));
  }

  function treeRow(one, opened) {
    const given = {
      role: "treeitem", "aria-level": one.level, tabindex: one.key === at ? "0" : "-1", "data-f": one.key,
      class: `row${one.urn && one.urn === opened ? " now" : ""}`,
      style: `padding-left:${(one.level - 1) * 14 + 6}px`,
    };
    if (one.more) {
      return make("div", { ...given, class: "row more", on: { click: () => say("more", { key: one.more }) } },
        make("span", { class: "twist" }), make("span", { class: "name", text: `show more (${one.name})` }));
    }
    const opens = one.open !== null;
    return make("div", {
      ...given, "aria-setsize": one.of, "aria-posinset": one.at,
      "aria-expanded": opens ? String(one.open) : null, "aria-selected": one.urn ? String(one.urn === opened) : null,
      on: { click: (event) => { at = one.key; chooseRow(one, event.target.className === "twist"); } },
    },
      make("span", { class: "twist", "aria-hidden": "true", text: opens ? (one.open ? "▾" : "▸") : "" }),
      make("span", { class: opens && !one.urn ? "name folder" : "name", text: one.name, title: one.name }),
      one.count === null || one.count === undefined ? null : make("span", { class: "count", text: one.count.toLocaleString("en") }),
      one.note ? make("span", { class: "dim", text: one.note }) : null);
  }

  function chooseRow(one, twists = false) {
    if (one.more) say("more", { key: one.more });
    else if (one.urn && !twists) open(one.urn);
    else if (one.open !== null) say(one.open ? "fold" : "unfold", { key: one.key });
  }

  function treeKey(event) {
    const rows = model.get("tree") || [];
    const place = rows.findIndex((one) => one.key === at);
    const one = rows[place];
    if (!one) return;
    let next = null;
    if (event.key === "ArrowDown") next = rows[place + 1];
    else if (event.key === "ArrowUp") next = rows[place - 1];
    else if (event.key === "Home") next = rows[0];
    else if (event.key === "End") next = rows[rows.length - 1];
    else if (event.key === "ArrowRight" && one.open === false) say("unfold", { key: one.key });
    else if (event.key === "ArrowRight") next = rows[place + 1];
    else if (event.key === "ArrowLeft" && one.open) say("fold", { key: one.key });
    else if (event.key === "ArrowLeft") next = rows.slice(0, place).reverse().find((above) => above.level < one.level);
    else if (event.key === "Enter" || event.key === " ") chooseRow(one);
    else if (event.key.length === 1 && /\S/.test(event.key) && event.key !== "/" && !event.ctrlKey && !event.metaKey) {
      const key = event.key.toLowerCase();
      next = [...rows.slice(place + 1), ...rows.slice(0, place)].find((row) => row.name.toLowerCase().startsWith(key));
    } else return;
    event.preventDefault();
    if (next) {
      at = next.key;
      for (const row of tree.children) row.tabIndex = row.dataset.f === at ? 0 : -1;
      const here = [...tree.children].find((row) => row.dataset.f === at);
      here?.focus({ preventScroll: true });
      here?.scrollIntoView({ block: "nearest" });
    }
  }

  // The facets and the results.

  const facets = make("div", { class: "facets" });
  const chips = make("div", { class: "chips" });
  const told = make("div", { class: "told", "aria-live": "polite" });
  const fault = make("div", { class: "fault", id: `${own}-fault`, role: "status" });
  const results = make("ol", { class: "results", "aria-label": "Results", on: { keydown: resultsKey } });
  const pager = make("div", { class: "pager" });

  function drawFind() {
    const find = model.get("find") || {};
    if (find.put !== put) {
      put = find.put;
      if (!search.waits()) {
        if (root().activeElement !== box || box.value.trim() !== (find.text || "").trim()) box.value = find.text || "";
        if (root().activeElement !== filter || filter.value.trim() !== (find.filter || "").trim()) filter.value = find.filter || "";
      }
    }
    order.value = find.order || "";
    fault.textContent = find.fault || "";
    fault.hidden = !find.fault;
    filter.classList.toggle("wrong", (find.fault || "").startsWith("✗"));
    const picked = find.ticked ? ` · ${find.ticked} chosen` : "";
    told.textContent = find.said ? find.said + picked : "searching …";
    redraw(chips, (find.chosen || []).map((one) => make("button", {
      type: "button", class: "chip", "data-f": `${one.field} ${one.value}`, "aria-label": `take off ${one.label}`,
      on: { click: () => say("toggle", { field: one.field, value: one.value }) },
    }, one.label, make("span", { "aria-hidden": "true", text: "×" }))));
    chips.hidden = !(find.chosen || []).length;
    redraw(results, (find.hits || []).map((hit) => drawHit(hit, find.words)));
    redraw(pager,
      make("button", { type: "button", "data-f": "before", disabled: !find.before, text: "← previous",
        on: { click: () => page(Math.max((find.start || 0) - 20, 0)) } }),
      make("button", { type: "button", "data-f": "after", disabled: !find.after, text: "next →",
        on: { click: () => page((find.start || 0) + 20) } }));
    pager.hidden = !(find.before || find.after);
    redraw(facets, (find.facets || []).map(drawFacet));
  }

  function page(start) {
    say("page", { start });
    found.scrollTop = 0;
  }

  function drawHit(hit, words) {
    const now = hit.urn === (model.get("page") || {}).urn;
    const facts = [hit.kind, hit.platform].filter(Boolean).join(" · ");
    return make("li", { class: now ? "now" : "" },
      make("input", { type: "checkbox", "data-f": `tick ${hit.urn}`, "aria-label": `choose ${hit.name}`, title: "choose, for explorer.df",
        on: { change: (event) => say("tick", { urn: hit.urn, on: event.target.checked }) } }),
      make("button", { type: "button", class: "hit", "data-f": hit.urn, "aria-current": now ? "true" : null, on: { click: () => open(hit.urn) } },
        make("span", { class: "first" }, make("span", { class: "name" }, ...marked(hit.name, words)), " ",
          make("span", { class: "dim", text: facts }), " ", hit.state ? make("span", { class: "state", text: hit.state }) : null),
        make("span", { class: hit.about.length ? "about" : "about none" },
          hit.mark ? make("span", { class: "edited", title: "edited", text: `${hit.mark} ` }) : null, hit.about.length ? grown(hit.about, words, false) : "no description"),
        hit.why ? make("span", { class: "why" }, make("span", { class: "dim", text: `${hit.why.field}: ` }), ...marked(hit.why.value, words)) : null));
  }

  function resultsKey(event) {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const rows = [...results.querySelectorAll(".hit")];
    const here = rows.findIndex((row) => row.closest("li").contains(root().activeElement));
    const next = here + (event.key === "ArrowDown" ? 1 : -1);
    event.preventDefault();
    if (next < 0) box.focus();
    rows[next]?.focus({ preventScroll: true });
    rows[next]?.scrollIntoView({ block: "nearest" });
  }

  function drawFacet(facet) {
    const all = wide.has(facet.field);
    const rows = facet.values.filter((one, n) => all || n < FEW_VALUES || one.on);
    const name = `facet ${facet.field}`;
    return make("fieldset", {},
      make("legend", { text: facet.label }),
      rows.map((one) => make("button", {
        type: "button", class: "value", "aria-pressed": String(one.on), "data-f": `${facet.field} ${one.value}`,
        on: { click: () => say("toggle", { field: facet.field, value: one.value }) },
      }, make("span", { class: "name", text: one.label, title: one.label }), make("span", { class: "count", text: one.count.toLocaleString("en") }))),
      facet.values.length > FEW_VALUES ? make("button", {
        type: "button", class: "link", "data-f": name, text: all ? "fewer" : `all ${facet.values.length + facet.more}`,
        on: { click: () => { all ? wide.delete(facet.field) : wide.add(facet.field); drawFind(); } },
      }) : null,
      all && facet.more ? make("div", { class: "dim pad", text: `and ${facet.more} rarer ones` }) : null);
  }

  // The page of an entity.

  const head = make("div", { class: "head" });
  const tabs = make("div", { class: "tabs", role: "tablist", "aria-label": "What to see of it", on: { keydown: tabsKey } });
  const panel = make("div", { class: "panel", role: "tabpanel", id: `${own}-panel`, tabindex: "0" });
  const desk = make("div", { class: "desk", hidden: true });
  let seen = null;

  function open(urn) {
    left = urn;
    seen = "go";
    say("open", { urn });
  }

  function drawPage() {
    const shown = model.get("page") || {};
    frame.classList.toggle("open", Boolean(shown.urn));
    drawTree();
    drawFind();
    if (!shown.urn) {
      if (seen === "back") ([...results.querySelectorAll(".hit")].find((one) => one.dataset.f === left) || box).focus();
      seen = null;
      return;
    }
    redraw(head,
      make("div", { class: "line" },
        make("h3", { tabindex: "-1", "data-f": "name", text: shown.name }),
        make("span", { class: "dim", text: (shown.facts || []).join(" · ") }),
        make("span", { class: "gap" }),
        shown.tabs?.length && !shown.why_not ? make("button", { type: "button", "data-f": "edit", text: (shown.drafts || []).includes(null) ? "✎ Go on writing" : "✎ Edit description", on: { click: () => say("edit") } }) : null,
        make("button", { type: "button", class: "quiet", "data-f": "back", title: "back to the results", "aria-label": "close, back to the results", text: "✕",
          on: { click: back } })),
      make("div", { class: "urn", text: shown.urn }),
      (shown.states || []).map((one) => make("div", { class: "state", text: one })),
      shown.why_not ? make("div", { class: "dim", text: shown.why_not }) : null,
      (shown.drafts || []).length ? make("div", { class: "dim", text: `${shown.drafts.length} ${shown.drafts.length === 1 ? "draft is" : "drafts are"} kept here, not saved` }) : null);
    drawTabs();
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
    if (model.get("editor")?.urn) { flush(); say("leave"); }
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

  const narrow = later((text) => say("tab", { tab: "columns", text, most: 100 }));

  function drawTab() {
    const shown = model.get("tab") || {};
    drawTabs();
    if (!shown.tab) { redraw(panel); return; }
    if (shown.reading) { redraw(panel, make("p", { class: "dim", text: "reading …" })); return; }
    const body = { overview: overview, columns: columns, lineage: lineage, history: history }[shown.tab];
    const parts = drawParts(shown.parts);
    redraw(panel, body ? body(shown, parts) : parts);
  }

  function way(one) {
    return make("span", { class: "way" },
      make("button", { type: "button", class: "link", "data-f": `way ${one.urn}`, title: one.urn, text: one.text, on: { click: () => open(one.urn) } }),
      one.after ? make("span", { class: "dim", text: ` ${one.after}` }) : null);
  }

  function overview(shown, parts) {
    if (!shown.facts) return parts;
    const texts = (shown.texts || []).map((one) => make("section", {},
      make("h4", {}, "Description ", make("span", { class: "dim", text: one.label })),
      make("div", { class: "prose" }, ...grown(one.tree))));
    return [
      ...(texts.length ? texts : [make("p", { class: "dim", text: "no description" })]),
      make("dl", {}, shown.facts.map((one) => [make("dt", { text: one.name }),
        make("dd", {}, one.text || (one.ways.length ? one.ways.map(way) : make("span", { class: "dim", text: one.none || "none" })))])),
      ...parts,
    ];
  }

  function columns(shown, parts) {
    if (!shown.columns) return parts;
    const why = (model.get("page") || {}).why_not, drafts = (model.get("page") || {}).drafts || [];
    return [
      make("div", { class: "line" },
        make("input", { type: "search", "data-f": "columns", "aria-label": "Narrow the columns", placeholder: "Narrow the columns …", value: shown.text || "", on: { input: (event) => narrow(event.target.value) } }),
        make("span", { class: "dim", text: shown.said })),
      make("table", { class: "columns" },
        make("thead", {}, make("tr", {}, ["column", "type", "description", ""].map((one) => make("th", { scope: "col", text: one })))),
        make("tbody", {}, shown.columns.map((one) => make("tr", {},
          make("td", { class: "name", style: `padding-left:${one.indent * 14}px` }, one.name, one.key ? [" ", make("span", { class: "tag", text: one.key })] : null,
            one.labels.map((label) => [" ", make("span", { class: "tag", text: label })])),
          make("td", { class: "dim", text: one.type }),
          make("td", {}, one.text.length ? [one.mark ? make("span", { class: "edited", title: "edited", text: `${one.mark} ` }) : null, grown(one.text)] : make("span", { class: "dim", text: "no description" }),
            one.ingested.length ? make("div", { class: "dim small" }, "from ingestion: ", grown(one.ingested)) : null),
          make("td", {}, why ? null : make("button", { type: "button", class: "quiet", "data-f": `edit ${one.path}`, "aria-label": `edit the description of ${one.name}`,
            text: drafts.includes(one.path) ? "✎ draft" : "✎", on: { click: () => say("edit", { path: one.path }) } })))))),
      shown.more ? make("button", { type: "button", "data-f": "more", text: `show more (${shown.more.toLocaleString("en")} left)`,
        on: { click: () => say("tab", { tab: "columns", most: shown.most + 200 }) } }) : null,
      ...parts,
    ];
  }

  function lineage(shown, parts) {
    if (!shown.sides) return parts;
    return [
      make("div", { class: "line" },
        make("label", {}, "hops ", make("select", { "data-f": "hops", on: { change: (event) => say("tab", { tab: "lineage", hops: Number(event.target.value) }) } },
          [1, 2, 3, 4, 5].map((one) => make("option", { value: one, text: one, selected: one === shown.hops }))))),
      ...parts,
      make("div", { class: "sides" }, shown.sides.map((one) => make("section", {}, make("h4", { text: one.label }),
        make("ul", {}, one.ways.map((next) => make("li", {}, way(next))), one.more ? make("li", { class: "dim", text: `and ${one.more} more` }) : null)))),
    ];
  }

  function history(shown, parts) {
    if (!shown.aspects?.length) return parts;
    return [make("div", { class: "line" }, make("label", {}, "aspect ", make("select", {
      "data-f": "aspect", on: { change: (event) => say("tab", { tab: "history", aspect: event.target.value }) },
    }, shown.aspects.map((one) => make("option", { value: one, text: one, selected: one === shown.aspect }))))), ...parts];
  }

  function drawParts(parts) {
    return (parts || []).map(drawPart);
  }

  function drawPart(part) {
    switch (part.is) {
      case "title": return make("h4", {}, part.text, " ", make("span", { class: "dim", text: part.after }));
      case "say": return make("p", { class: part.tone === "quiet" ? "dim" : part.tone === "loud" ? "loud" : "", text: part.text });
      case "prose": return make("section", {}, make("h4", { text: part.label }), make("div", { class: "prose" }, ...grown(part.tree)));
      case "facts": return make("dl", {}, part.rows.map(([name, cell]) => [make("dt", { text: name }), make("dd", {}, drawCell(cell))]));
      case "grid": return make("div", { class: "wide" }, make("table", {},
        make("thead", {}, make("tr", {}, part.headers.map((one, n) => make("th", { scope: "col", class: part.numbers[n] ? "number" : "", text: one })))),
        make("tbody", {}, part.rows.map((row) => make("tr", {}, row.map((cell, n) => make("td", { class: part.numbers[n] ? "number" : "" }, drawCell(cell))))))));
      case "fold": return make("details", {}, make("summary", { text: part.label }), ...part.parts.map(drawPart));
      case "diff": return drawDiff(part.lines);
      case "picture": return /^data:image\/svg\+xml;base64,/.test(part.src) ? make("img", { src: part.src, alt: part.alt }) : make("p", { text: part.alt });
      default: return make("p", { text: part.text || "" });
    }
  }

  function drawCell(cell) {
    const text = cell.link && leadsOut(cell.link) ? outward(cell.link, cell.text || cell.link)
      : cell.urn ? make("button", { type: "button", class: "link", "data-f": `way ${cell.urn}`, title: cell.urn, text: cell.text, on: { click: () => open(cell.urn) } }) : cell.tree ? grown(cell.tree) : cell.text;
    return make("div", { class: cell.tone === "quiet" ? "dim" : cell.tone === "loud" ? "loud" : "", style: cell.indent ? `padding-left:${cell.indent * 14}px` : null },
      cell.mark ? make("span", { class: "edited", text: `${cell.mark} ` }) : null, text,
      [...(cell.below || []), ...(cell.detail && !cell.urn ? [cell.detail] : [])].map((one) => make("div", { class: "dim small", text: one })));
  }

  function drawDiff(lines) {
    return make("div", { class: "diff", role: "group", "aria-label": "What differs" }, lines.filter((one) => !one.startsWith("@@ -1,") && !one.startsWith("@@ -1 ")).map((one) => {
      const sign = one[0];
      const kind = { "+": "added", "-": "removed", "@": "place" }[sign] || "same";
      return make("div", { class: kind }, make("span", { class: "sign", text: sign === "@" ? "" : sign }), make("span", { text: sign === "@" ? one.replace(/^@@.*@@$/, "⋯").replace(/^@(?!@)/, "") : one.slice(1) }));
    }));
  }

  // The editor.

  const area = make("textarea", { "aria-label": "Description, markdown", spellcheck: "true", on: { input: () => typed() } });
  const preview = make("div", { class: "prose preview", "aria-label": "Preview", role: "region", tabindex: "0" });
  const desktop = make("div", { class: "two" }, make("div", { class: "half" }, make("div", { class: "label", text: "Markdown" }), area),
    make("div", { class: "half" }, make("div", { class: "label", text: "Preview" }), preview));
  const deskHead = make("div", { class: "line" });
  const deskBody = make("div", { class: "compare" });
  const deskFoot = make("div", { class: "line foot" });
  desk.append(deskHead, desktop, deskBody, deskFoot);
  desk.addEventListener("keydown", (event) => {
    const stage = (model.get("editor") || {}).stage;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") {
      event.preventDefault();
      if (stage === "writing") { flush(); say("compare"); } else if (stage === "comparing") say("save");
    } else if (event.key === "Escape") {
      event.preventDefault();
      flush();
      say(stage === "writing" ? "leave" : "write");
    }
  });
  let writes = "";

  const typed = later(() => say("draft", { urn: draft.urn, path: draft.path, text: area.value }));
  let draft = {};

  function flush() {
    if (typed.waits()) { typed.cancel(); say("draft", { urn: draft.urn, path: draft.path, text: area.value }); }
  }

  function drawEditor() {
    const shown = model.get("editor") || {};
    const place = shown.urn ? `${shown.urn} ${shown.path ?? ""}` : "";
    desk.hidden = !place;
    panel.hidden = Boolean(place);
    frame.classList.toggle("writing", Boolean(place));
    if (!place) {
      if (writes) head.querySelector('[data-f="edit"]')?.focus({ preventScroll: true });
      writes = "";
      return;
    }
    const fresh = place !== writes;
    draft = { urn: shown.urn, path: shown.path ?? null };
    if (fresh || (shown.stage === "writing" && !typed.waits() && area.value !== shown.text)) area.value = shown.text;
    writes = place;
    const stage = shown.stage;
    area.readOnly = stage === "saving";
    desktop.hidden = stage !== "writing";
    deskBody.hidden = stage === "writing";
    const words = { writing: "Description of ", comparing: "What saving would change in ", saving: "Saving ", conflict: "Not saved: somebody else changed " }[stage];
    redraw(deskHead, make("h4", {}, words, make("span", { text: `«${shown.title}»` }), stage === "conflict" ? " meanwhile" : ""), make("span", { class: "dim", text: shown.hidden || "" }));
    redraw(deskBody, stage === "writing" ? [] : [
      make("div", { class: "dim line" }, (stage === "conflict" ? ["− theirs, as it is saved now", "+ yours, as you have it"] : ["− as it is saved now", "+ as you have it"])
        .map((text) => make("span", { text }))), drawDiff(shown.diff)]);
    const act = (name, text, kind = "", before = null) => make("button", { type: "button", class: kind, "data-f": name, text, disabled: stage === "saving", on: { click: () => { before?.(); say(name); } } });
    const gap = make("span", { class: "gap" });
    redraw(deskFoot, ...{
      writing: [act("compare", "Compare and save …", "main", flush), gap, act("leave", "Close, keep the draft", "", flush), act("discard", "Discard", "quiet", () => typed.cancel())],
      comparing: [act("save", "Save", "main"), act("write", "Back to the text"), gap],
      saving: [act("save", "Saving …", "main"), gap],
      conflict: [act("mine", "Save mine instead", "main"), act("theirs", "Take theirs"), act("write", "Back to the text"), gap],
    }[stage]);
    if (fresh || (stage === "writing" && !desk.contains(root().activeElement))) area.focus({ preventScroll: true });
    else if (stage !== "writing" && !deskFoot.contains(root().activeElement)) deskFoot.querySelector("button")?.focus({ preventScroll: true });
  }

  function drawPreview() {
    const made = model.get("preview") || [];
    preview.replaceChildren(...(made.length ? grown(made) : [make("span", { class: "dim", text: "nothing written yet" })]));
  }

  // The frame around it all.

  const sides = ["browse", "narrow"].map((one) => make("button", {
    type: "button", "aria-pressed": String(one === side), text: { browse: "Browse", narrow: "Narrow" }[one],
    on: { click: () => { side = one; drawSide(); } },
  }));

  function drawSide() {
    sides.forEach((button, n) => button.setAttribute("aria-pressed", String(side === ["browse", "narrow"][n])));
    tree.hidden = side !== "browse";
    facets.hidden = side !== "narrow";
  }

  const busy = make("span", { class: "busy" });
  const problem = make("span", { class: "problem", role: "alert" });
  const said = make("span", { class: "said", role: "status" });
  const found = make("section", { class: "found", "aria-label": "Search" }, make("div", { class: "line over" }, told, make("span", { class: "gap" }), order), fault, chips, results, pager);
  const frame = make("div", { class: "frame" },
    make("div", { class: "bar" }, make("div", { class: "searching" }, box, offers), filter),
    make("nav", { class: "side", "aria-label": "Browse and narrow" }, make("div", { class: "group" }, sides), tree, facets),
    found,
    make("section", { class: "page", "aria-label": "What is open" }, head, tabs, panel, desk),
    make("div", { class: "note" }, busy, problem, said));
  const whole = make("div", { class: "catalog-explorer", "data-lm-suppress-shortcuts": "true" }, frame);
  whole.addEventListener("keydown", (event) => {
    const writing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && event.target.type !== "checkbox";
    if (event.key === "/" && !writing) { event.preventDefault(); box.focus(); box.select(); }
    if (event.key === "Escape" && !writing && !desk.contains(event.target) && (model.get("page") || {}).urn) back();
  });
  el.append(whole);

  const drawn = {
    find: drawFind, offers: drawOffers, tree: drawTree, page: drawPage, tab: drawTab, editor: drawEditor, preview: drawPreview,
    busy: () => { busy.textContent = model.get("busy"); },
    problem: () => { problem.textContent = model.get("problem"); },
    said: () => { said.textContent = model.get("said"); },
  };
  for (const [name, draw] of Object.entries(drawn)) { model.on(`change:${name}`, draw); draw(); }
  drawSide();
  return () => {
    for (const [name, draw] of Object.entries(drawn)) model.off(`change:${name}`, draw);
    for (const one of [search, narrow, typed]) one.cancel();
  };
}

export default { render };
