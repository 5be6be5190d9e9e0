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
