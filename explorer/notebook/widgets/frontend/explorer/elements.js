// Elements of a page. Every text is set as text: no HTML is ever read here, and elements are made
// from a short list of names.

const PAUSE_MILLIS = 200;
const ELEMENTS = new Set([
  "a", "blockquote", "br", "code", "del", "em", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s",
  "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
]);

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

// What the parts of a widget are added to; `changed` is called when the kernel goes or comes back.
function shellOf({ model, el }, kind, changed) {
  const whole = make("div", { class: kind }), kernel = watchKernel(model, el, changed);
  const root = () => el.getRootNode();
  return { here: () => whole.contains(root().activeElement), kernel, model, redraw: redrawing(root), root, say: kernel.send, whole };
}

// The line below a widget, and what draws it: what is being read, what went wrong, what was done.
function noteOf(model, ...more) {
  const places = {
    busy: make("span", { class: "cx-busy" }),
    problem: make("span", { class: "cx-problem", role: "alert" }),
    said: make("span", { class: "cx-said", role: "status" }),
  };
  const told = Object.entries(places).map(([name, place]) => [name, () => { place.textContent = model.get(name); }]);
  return { busy: places.busy, drawn: Object.fromEntries(told), note: make("div", { class: "cx-note" }, ...Object.values(places), ...more) };
}

// Draws an editor, and the buttons that are hidden while it is open. The focus goes from one to the
// other, and what is hidden cannot have it: what is shown is drawn first.
function drawInTurn(isOpen, drawEditor, drawButtons) {
  if (!isOpen) drawButtons();
  drawEditor();
  if (isOpen) drawButtons();
}

// Draws a place anew; the focus and the place in a text stay. While something in it is pressed it is
// drawn once that is over: a click whose button was replaced between press and release is lost.
function redrawing(root) {
  let pressed = null;
  const waiting = new Map();
  const watched = new WeakSet();

  function draw(place, children) {
    waiting.delete(place);
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

  function press(event) {
    pressed = event.composedPath()[0];
    const lets = () => { pressed = null; };
    const draws = () => setTimeout(() => {
      pressed = null;
      window.removeEventListener("click", lets, true);
      for (const [place, children] of [...waiting]) draw(place, children);
    });
    // What the click itself draws is drawn at once.
    window.addEventListener("click", lets, { capture: true, once: true });
    for (const kind of ["pointerup", "pointercancel"]) window.addEventListener(kind, draws, { capture: true, once: true });
  }

  return (place, ...children) => {
    if (!watched.has(place)) {
      watched.add(place);
      place.addEventListener("pointerdown", press);
    }
    if (pressed && place.contains(pressed)) waiting.set(place, children);
    else draw(place, children);
  };
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
