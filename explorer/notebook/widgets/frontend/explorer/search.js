// The search box with what completes it, and what was found: facets and results.

const FEW_VALUES = 5;

function addSearch(shell) {
  const { model, own, root, say } = shell;
  let active = -1, wanted = "";

  const search = later(() => say("search", { text: box.value, filter: filter.value }));
  const box = make("input", {
    type: "search", class: "cx-asked", role: "combobox", placeholder: "Search names, columns, descriptions …",
    "aria-label": "Search the catalog", "aria-autocomplete": "list", "aria-expanded": "false",
    "aria-controls": `${own}-offers`, autocomplete: "off", spellcheck: "false",
    on: {
      input: () => { wanted = box.value.trim(); fold(); search(); },
      keydown: boxKey,
      blur: () => setTimeout(fold, 120),
    },
  });
  const offers = make("ul", { id: `${own}-offers`, role: "listbox", class: "cx-offers", "aria-label": "Completions", hidden: true });
  const filter = make("input", {
    type: "search", class: "cx-filter", placeholder: "Filter, such as platform:snowflake", autocomplete: "off",
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
      make("span", { class: "cx-name" }, ...marked(one.text, wanted.split(/\s+/))), " ",
      make("span", { class: "cx-dim", text: [one.kind, one.platform].filter(Boolean).join(" · ") }))));
    offers.hidden = false;
    box.setAttribute("aria-expanded", "true");
  }

  function take(one) {
    search.cancel();
    fold();
    wanted = "";
    if (one.urn) shell.open(one.urn);
    else { box.value = one.text; ask(); }
  }

  function boxKey(event) {
    const rows = offers.hidden ? [] : [...offers.children];
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!rows.length) {
        if (event.key === "ArrowDown") shell.results.querySelector(".cx-hit")?.focus();
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
      if (text.startsWith("urn:li:")) { search.cancel(); shell.open(text); } else ask();
    } else if (event.key === "Escape" && rows.length) {
      event.preventDefault();
      wanted = "";
      fold();
    }
  }

  Object.assign(shell, { box, drawOffers, filter, offers, order, search });
}

function addFound(shell) {
  const { model, own, redraw, root, say } = shell;
  const wide = new Set();
  let put = null;

  const facets = make("div", { class: "cx-facets" });
  const chips = make("div", { class: "cx-chips" });
  const told = make("div", { class: "cx-told", "aria-live": "polite" });
  const again = make("button", { type: "button", text: "Try again", hidden: true, on: { click: () => say("again") } });
  const fault = make("div", { class: "cx-fault", id: `${own}-fault`, role: "status" });
  const results = make("ol", { class: "cx-results", "aria-label": "Results", on: { keydown: resultsKey } });
  const pager = make("div", { class: "cx-pager" });

  function drawFind() {
    const find = model.get("find") || {};
    if (find.put !== put) {
      put = find.put;
      if (!shell.search.waits()) {
        if (root().activeElement !== shell.box || shell.box.value.trim() !== (find.text || "").trim()) shell.box.value = find.text || "";
        if (root().activeElement !== shell.filter || shell.filter.value.trim() !== (find.filter || "").trim()) shell.filter.value = find.filter || "";
      }
    }
    shell.order.value = find.order || "";
    fault.textContent = find.fault || "";
    fault.hidden = !find.fault;
    shell.filter.classList.toggle("cx-wrong", (find.fault || "").startsWith("✗"));
    const picked = find.ticked ? ` · ${find.ticked} chosen` : "";
    // Results of an earlier search stay, and are not taken for those of this one.
    const before = find.said ? `no answer; of the search before: ${find.said}` : "no answer";
    told.textContent = find.unanswered ? before + picked : find.said ? find.said + picked : "searching …";
    again.hidden = !find.unanswered;
    redraw(chips, (find.chosen || []).map((one) => make("button", {
      type: "button", class: "cx-chip", "data-f": `${one.field} ${one.value}`, "aria-label": `remove ${one.label}`,
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
    if (!(model.get("tree") || []).length) shell.drawTree();
  }

  function page(start) {
    say("page", { start });
    shell.found.scrollTop = 0;
  }

  function drawHit(hit, words) {
    const now = hit.urn === (model.get("page") || {}).urn;
    const facts = [hit.kind, hit.platform].filter(Boolean).join(" · ");
    return make("li", { class: now ? "cx-now" : "" },
      make("input", { type: "checkbox", checked: hit.ticked, "data-f": `tick ${hit.urn}`, "aria-label": `choose ${hit.name}`, title: "select for explorer.df",
        on: { change: (event) => say("tick", { urn: hit.urn, on: event.target.checked }) } }),
      make("button", { type: "button", class: "cx-hit", "data-f": hit.urn, "aria-current": now ? "true" : null, on: { click: () => shell.open(hit.urn) } },
        make("span", { class: "cx-first" }, make("span", { class: "cx-name" }, ...marked(hit.name, words)), " ",
          make("span", { class: "cx-dim", text: facts }), " ", hit.state ? make("span", { class: "cx-state", text: hit.state }) : null),
        make("span", { class: hit.about.length ? "cx-about" : "cx-about cx-none" },
          hit.mark ? make("span", { class: "cx-edited", title: "edited", text: `${hit.mark} ` }) : null, hit.about.length ? grown(hit.about, words, false) : "no description"),
        hit.measures ? make("span", { class: "cx-measures", text: hit.measures }) : null,
        hit.why ? make("span", { class: "cx-why" }, make("span", { class: "cx-dim", text: `${hit.why.field}: ` }), ...marked(hit.why.value, words)) : null));
  }

  function resultsKey(event) {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const rows = [...results.querySelectorAll(".cx-hit")];
    const here = rows.findIndex((row) => row.closest("li").contains(root().activeElement));
    const next = here + (event.key === "ArrowDown" ? 1 : -1);
    event.preventDefault();
    if (next < 0) shell.box.focus();
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
        type: "button", class: "cx-value", "aria-pressed": String(one.on), "data-f": `${facet.field} ${one.value}`,
        on: { click: () => say("toggle", { field: facet.field, value: one.value }) },
      }, make("span", { class: "cx-name", text: one.label, title: one.label }), make("span", { class: "cx-count", text: `${one.adds ? "+" : ""}${one.count.toLocaleString("en")}`, title: one.adds ? "what this adds" : null }))),
      facet.values.length > FEW_VALUES ? make("button", {
        type: "button", class: "cx-link", "data-f": name, text: all ? "fewer" : `all ${facet.size}`,
        on: { click: () => { all ? wide.delete(facet.field) : wide.add(facet.field); drawFind(); } },
      }) : null,
      all && facet.more ? make("div", { class: "cx-dim cx-pad", text: `and ${facet.more} rarer ones` }) : null);
  }

  Object.assign(shell, { again, chips, drawFind, facets, fault, pager, results, told });
}
