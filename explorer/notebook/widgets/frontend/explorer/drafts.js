// The drafts: how many there are, told at the start, and the list of them above everything else.

function addDrafts(shell) {
  const { model, redraw, say } = shell;
  const count = make("button", { type: "button", class: "cx-drafts", "aria-expanded": "false", on: { click: () => turn(!(model.get("kept") || {}).listed) } });
  const kept = make("section", { class: "cx-kept", "aria-label": "Drafts", hidden: true, on: { keydown: (event) => {
    if (event.key === "Escape") { event.stopPropagation(); turn(false); }
  } } });

  function turn(on) {
    shell.flush();
    say("kept", { do: on ? "list" : "hide" });
  }

  function act(one, name, text, label) {
    return make("button", { type: "button", "data-f": `${name} ${one.id}`, text, "aria-label": `${label}${one.column ? `${one.column} of ` : ""}${one.name}`,
      on: { click: () => { shell.flush(); say("kept", { do: name, id: one.id }); } } });
  }

  function row(one) {
    return make("tr", {},
      make("td", { class: "cx-name" }, ...breakable(one.name), one.column ? [" · ", ...breakable(one.column)] : null),
      make("td", { text: one.text }),
      make("td", { class: "cx-dim cx-small", text: `${one.at} · ${one.by}` }),
      make("td", { class: "cx-acts" }, one.why_not ? make("span", { class: "cx-dim cx-small", text: one.why_not }) : [
        act(one, "open", "Open", "open the draft of "), act(one, "compare", "Compare and save …", "compare and save the draft of "), act(one, "discard", "Discard", "discard the draft of ")]));
  }

  function drawKept() {
    const told = model.get("kept") || {}, rows = told.rows || [];
    redraw(count, told.count ? `Drafts ${told.count.toLocaleString("en")}` : "Drafts");
    count.setAttribute("aria-expanded", String(Boolean(told.listed)));
    kept.hidden = !told.said;
    redraw(kept,
      make("div", { class: "cx-line" }, make("span", { role: "status", text: told.said || "" }), make("span", { class: "cx-gap" }),
        told.restores ? make("button", { type: "button", "data-f": "restore", text: "Restore the last discarded", on: { click: () => say("kept", { do: "restore" }) } }) : null,
        told.listed ? null : make("button", { type: "button", "data-f": "list", text: "List the drafts", on: { click: () => turn(true) } }),
        make("button", { type: "button", class: "cx-quiet", "data-f": "hide", title: "hide the drafts", "aria-label": "hide the drafts", text: "✕", on: { click: () => turn(false) } })),
      rows.length ? make("table", {}, make("tbody", {}, rows.map(row))) : null);
  }

  Object.assign(shell, { count, drawKept, kept });
}
