// The folders.

function addFolders(shell) {
  const { model, redraw, say } = shell;
  const tree = make("div", { role: "tree", class: "cx-tree", "aria-label": "Folders of the catalog", on: { keydown: treeKey } });
  let at = "";

  function drawTree() {
    const rows = model.get("tree") || [];
    const opened = (model.get("page") || {}).urn || "";
    if (!rows.some((one) => one.key === at)) at = rows.length ? rows[0].key : "";
    const none = (model.get("find") || {}).unanswered ? "could not be read" : "reading …";
    redraw(tree, rows.length ? rows.map((one) => treeRow(one, opened)) : make("p", { class: "cx-dim cx-pad", text: none }));
  }

  function treeRow(one, opened) {
    const given = {
      role: "treeitem", "aria-level": one.level, tabindex: one.key === at ? "0" : "-1", "data-f": one.key,
      class: `cx-row${one.urn && one.urn === opened ? " cx-now" : ""}`,
      style: `padding-left:${(one.level - 1) * 14 + 6}px`,
    };
    if (one.more) {
      return make("div", { ...given, class: "cx-row cx-more", on: { click: () => say("more", { key: one.more }) } },
        make("span", { class: "cx-twist" }), make("span", { class: "cx-name", text: `show more (${one.name})` }));
    }
    const opens = one.open !== null;
    return make("div", {
      ...given, "aria-setsize": one.of, "aria-posinset": one.at,
      "aria-expanded": opens ? String(one.open) : null, "aria-selected": one.urn ? String(one.urn === opened) : null,
      on: { click: (event) => { at = one.key; chooseRow(one, event.target.className === "cx-twist"); } },
    },
      make("span", { class: "cx-twist", "aria-hidden": "true", text: opens ? (one.open ? "▾" : "▸") : "" }),
      make("span", { class: opens && !one.urn ? "cx-name cx-folder" : "cx-name", text: one.name, title: one.name }),
      one.count === null || one.count === undefined ? null : make("span", { class: "cx-count", text: one.count.toLocaleString("en") }),
      one.draft ? make("span", { class: "cx-state", text: "draft" }) : null,
      one.note ? make("span", { class: "cx-dim", text: one.note }) : null);
  }

  function chooseRow(one, twists = false) {
    if (one.more) say("more", { key: one.more });
    else if (one.urn && !twists) shell.open(one.urn);
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

  Object.assign(shell, { drawTree, tree });
}
