// The search box and what completes it.

function addSearching(shell) {
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
