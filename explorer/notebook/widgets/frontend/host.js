// A widget and the application that shows it: its keys, and whether its kernel is there. This text
// stands before that of every widget's own scripts. Every class of ours begins with `cx-` or
// `catalog-`: applications style short names, as Font Awesome in JupyterLab and Notebook does `far`.

// Keys pressed in a widget do nothing outside it, unless ctrl or meta is held: else `d d` on one of
// its buttons deletes the cell. JupyterLab hears keys at the document after the widget did, so that
// stopping them is enough; Notebook 7 hears them before, and there only an attribute of the element
// that has the focus keeps a shortcut from matching. Escape stays here too, for it closes what is
// open; Tab leads out. `own` says which keys with ctrl or meta are the widget's. The root takes the
// focus where nothing in it does, so that a click beside a button does not leave it on the cell.
function keepKeys(root, own = () => false) {
  const leaves = (event) => (event.ctrlKey || event.metaKey || event.key === "Control" || event.key === "Meta") && !own(event);
  const stop = (event) => { if (!leaves(event)) event.stopPropagation(); };
  const mark = (event) => {
    // Within a shadow root, as marimo shows widgets, a listener out here is told of its host alone.
    const target = event.composedPath()[0];
    if (root.contains(target)) target.toggleAttribute("data-lm-suppress-shortcuts", !leaves(event));
  };
  root.tabIndex = -1;
  for (const kind of ["keydown", "keypress", "keyup"]) root.addEventListener(kind, stop);
  window.addEventListener("keydown", mark, true);
  return () => window.removeEventListener("keydown", mark, true);
}

// Marks a widget as standing on a dark page, now and whenever the page's theme changes. JupyterLab
// and Notebook say which theme is on; elsewhere (marimo, VS Code) the colour of the text around tells.
function followTheme(root) {
  // As `rgb(…)` of 255, or as `color(srgb …)` of 1.
  const told = (color) => (color.match(/[\d.]+/g) || [0, 0, 0]).slice(0, 3).map((one) => one * (color.startsWith("color") ? 255 : 1));
  const look = () => {
    const said = document.body.dataset.jpThemeLight;
    const [red, green, blue] = told(getComputedStyle(root.parentElement || document.body).color);
    const bright = (0.299 * red + 0.587 * green + 0.114 * blue) / 255 > 0.5;
    root.classList.toggle("cx-dark", said ? said === "false" : bright);
  };
  const seen = new MutationObserver(look);
  for (const one of [document.documentElement, document.body]) seen.observe(one, { attributes: true });
  // A widget may be drawn before it is on the page, where nothing has a colour yet.
  const sized = new ResizeObserver(look);
  sized.observe(root);
  look();
  return () => { seen.disconnect(); sized.disconnect(); };
}

// A name that may be broken where a reader would break it; what is copied of it is the name.
function breakable(name) {
  return name.split(/(?<=[_./-])(?=[^_./-])/).flatMap((part, at) => at ? [document.createElement("wbr"), part] : [part]);
}

// A button that copies a text; beside a page that was not fetched safely there is no clipboard.
function copyButton(text, label, attributes = {}) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "cx-quiet cx-copy";
  made.title = label;
  made.setAttribute("aria-label", label);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [name, value] of Object.entries({ viewBox: "0 0 14 14", "aria-hidden": "true", style: "display:inline;width:12px;height:12px;vertical-align:-1px;fill:none;stroke:currentColor;stroke-width:1.3;cursor:pointer" })) icon.setAttribute(name, value);
  const pages = document.createElementNS("http://www.w3.org/2000/svg", "path");
  pages.setAttribute("d", "M4.5 4.5h8v8h-8zM9.5 4.5v-3h-8v8h3");
  icon.append(pages);
  made.append(icon);
  let back = null;
  made.addEventListener("click", async (event) => {
    event.stopPropagation();
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      made.after(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      made.focus({ preventScroll: true });
    }
    made.textContent = "✓";
    clearTimeout(back);
    back = setTimeout(() => made.replaceChildren(icon), 1500);
  });
  return made;
}

// Hides the HTML that a notebook saves beside a widget, while the widget is on the page. By a rule,
// for the application may draw that HTML later, or anew.
function hideStill(model) {
  const name = model.get("still");
  if (!/^[0-9a-f]+$/.test(name || "")) return () => {};
  const rule = document.createElement("style");
  rule.textContent = `.catalog-still-${name} { display: none; }`;
  document.head.append(rule);
  return () => rule.remove();
}

// Does what may take the focused element away, and has the root take the focus then.
function keepFocus(root, draw) {
  const active = () => root.getRootNode().activeElement;
  const had = root.contains(active());
  draw();
  if (had && (!root.contains(active()) || active().checkVisibility?.() === false)) root.focus({ preventScroll: true });
}

const PATIENCE_MILLIS = 8000;

// Sends what the reader does to the kernel, which answers each message, and tells how the kernel is:
// "gone" once the application says that nothing answers this widget any more, "late" when no answer
// came for long, "" otherwise. Not every end is told by the application: of a kernel that died by
// itself, or of a connection that is lost, only the missing answer tells. Nothing is sent to one
// that is gone. `mark` names this view among all of its widget, on whatever page.
function watchKernel(model, el, tell) {
  const mark = Math.random().toString(36).slice(2);
  let asked = 0, timer = null, now = "";
  const become = (state) => { if (state !== now) { now = state; tell(state); } };
  const wait = () => { clearTimeout(timer); timer = setTimeout(() => become(now || "late"), PATIENCE_MILLIS); };
  const hear = (message) => {
    if (message?.kind !== "heard" || message.view !== mark) return;
    clearTimeout(timer);
    timer = null;
    if (message.seq < asked) wait();
    if (now === "late") become("");
  };
  const turn = (gone) => { if (gone !== (now === "gone")) become(gone ? "gone" : ""); };
  const look = () => turn(Boolean(el.closest(".jupyter-widgets-disconnected")));
  // Called on the view, which knows the widget's connection; without one, it was lost.
  function changed() { turn(!this?.model?.comm_live); }
  model.on("msg:custom", hear);
  model.on("comm_live_update", changed);
  return {
    mark, look,
    is: () => now,
    send: (kind, more = {}) => {
      if (now === "gone") return;
      model.send({ kind, ...more, seq: ++asked, view: mark });
      if (timer === null) wait();
    },
    release: () => {
      clearTimeout(timer);
      model.off("msg:custom", hear);
      model.off("comm_live_update", changed);
    },
  };
}

// Puts a widget on its page. `drawn` says what draws each part of the model: it is called now, and
// whenever that part changes. Returns what ends it all, each of `ends` too.
function drawChanges({ model, el }, root, kernel, drawn, ends) {
  el.append(root);
  const undo = [...ends, followTheme(root), hideStill(model), kernel.release];
  for (const [name, draw] of Object.entries(drawn)) {
    const changed = () => keepFocus(root, draw);
    model.on(`change:${name}`, changed);
    undo.push(() => model.off(`change:${name}`, changed));
    draw();
  }
  kernel.look();
  return () => { for (const one of undo) one(); };
}

// The messages for a kernel that does not answer.
const AWAY = {
  "": "",
  gone: "The kernel of this widget is gone: its content is old, and its controls do nothing. Run its cell again to continue.",
  late: "The kernel has not answered for a while: it is busy, or gone.",
};
