// What Python shows of an object, drawn.

function addParts(shell) {
  function way(one) {
    return make("span", { class: "cx-way" },
      make("button", { type: "button", class: "cx-link", "data-f": `way ${one.urn}`, title: one.urn, text: one.text, on: { click: () => shell.open(one.urn) } }),
      one.after ? make("span", { class: "cx-dim", text: ` ${one.after}` }) : null);
  }

  function drawParts(parts) {
    return (parts || []).map(drawPart);
  }

  function drawPart(part) {
    switch (part.is) {
      case "title": return make("h4", {}, part.text, " ", make("span", { class: "cx-dim", text: part.after }));
      case "say": return make("p", { class: part.tone === "quiet" ? "cx-dim" : part.tone === "loud" ? "cx-loud" : "", text: part.text });
      case "prose": return make("section", {}, make("h4", { text: part.label }), make("div", { class: "cx-prose" }, ...grown(part.tree)));
      case "facts": return make("dl", {}, part.rows.map(([name, cell]) => [make("dt", { text: name }), make("dd", {}, drawCell(cell))]));
      case "grid": return make("div", { class: "cx-wide" }, make("table", {},
        make("thead", {}, make("tr", {}, part.headers.map((one, n) => make("th", { scope: "col", class: part.numbers[n] ? "cx-number" : "", text: one })))),
        make("tbody", {}, part.rows.map((row) => make("tr", {}, row.map((cell, n) => make("td", { class: part.numbers[n] ? "cx-number" : "" }, drawCell(cell))))))));
      case "fold": return make("details", {}, make("summary", { text: part.label }), ...part.parts.map(drawPart));
      case "diff": return drawDiff(part.lines);
      case "picture": return /^data:image\/svg\+xml;base64,/.test(part.src) ? make("img", { src: part.src, alt: part.alt }) : make("p", { text: part.alt });
      default: return make("p", { text: part.text || "" });
    }
  }

  function drawCell(cell) {
    const text = cell.link && leadsOut(cell.link) ? outward(cell.link, cell.text || cell.link)
      : cell.urn ? make("button", { type: "button", class: "cx-link", "data-f": `way ${cell.urn}`, title: cell.urn, text: cell.text, on: { click: () => shell.open(cell.urn) } }) : cell.tree ? grown(cell.tree) : cell.text;
    return make("div", { class: cell.tone === "quiet" ? "cx-dim" : cell.tone === "loud" ? "cx-loud" : "", style: cell.indent ? `padding-left:${cell.indent * 14}px` : null },
      cell.mark ? make("span", { class: "cx-edited", text: `${cell.mark} ` }) : null, text,
      [...(cell.below || []), ...(cell.detail && !cell.urn ? [cell.detail] : [])].map((one) => make("div", { class: "cx-dim cx-small", text: one })));
  }

  function drawDiff(lines) {
    return make("div", { class: "cx-diff", role: "group", "aria-label": "What differs" }, lines.map((one) => {
      const sign = one[0];
      const kind = { "+": "added", "-": "removed", "@": "place" }[sign] || "same";
      return make("div", { class: `cx-${kind}` }, make("span", { class: "cx-sign", text: sign === "@" ? "" : sign }), make("span", { text: one.slice(1) }));
    }));
  }

  Object.assign(shell, { drawDiff, drawParts, way });
}
