// Pictures and other files that leave the page.
const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight", "font-style", "text-decoration-line"];

// A drawing as a file of its own: whole, at its own size, with the colours of the page.
function standing(svg, stage, { width = 0, height = 0 }) {
  const far = stage.classList.contains("cx-far"), room = 48;
  stage.classList.remove("cx-far");
  const copy = svg.cloneNode(true), from = svg.querySelectorAll("*"), to = copy.querySelectorAll("*");
  from.forEach((element, at) => {
    const style = getComputedStyle(element);
    for (const name of STYLES) to[at].setAttribute(name.replace("-line", ""), style.getPropertyValue(name));
    for (const name of ["tabindex", "role", "class", "style"]) to[at].removeAttribute(name);
    if (element.matches(".cx-wide, .cx-badge.cx-fold")) to[at].setAttribute("display", "none");
  });
  const ground = getComputedStyle(stage).backgroundColor;
  stage.classList.toggle("cx-far", far);
  width += 2 * room;
  height += 2 * room;
  copy.firstElementChild.setAttribute("transform", `translate(${room} ${room})`);
  copy.prepend(make("rect", { width, height, fill: ground }));
  for (const [name, value] of Object.entries({ xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}` })) copy.setAttribute(name, value);
  return new XMLSerializer().serializeToString(copy);
}

function asPng(drawn, then) {
  const image = new Image();
  image.onload = () => {
    const scale = Math.min(2, 8192 / Math.max(image.width, image.height));
    const canvas = make("canvas", { width: Math.ceil(image.width * scale), height: Math.ceil(image.height * scale) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => blob && then(blob), "image/png");
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawn)}`;
}

function save(content, name, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
