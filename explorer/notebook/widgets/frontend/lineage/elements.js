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
