// The editor.

function addEditor(shell) {
  const { model, redraw, root, say } = shell;
  const desk = make("div", { class: "desk", hidden: true });
  const area = make("textarea", { "aria-label": "Description, markdown", spellcheck: "true", on: { input: () => typed() } });
  const preview = make("div", { class: "prose preview", "aria-label": "Preview", role: "region", tabindex: "0" });
  const desktop = make("div", { class: "two" }, make("div", { class: "half" }, make("div", { class: "label", text: "Markdown" }), area),
    make("div", { class: "half" }, make("div", { class: "label", text: "Preview" }), preview));
  const deskHead = make("div", { class: "line" });
  const deskBody = make("div", { class: "compare" });
  const deskFoot = make("div", { class: "line foot" });
  desk.append(deskHead, desktop, deskBody, deskFoot);
  desk.addEventListener("keydown", (event) => {
    const stage = (model.get("editor") || {}).stage;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") {
      event.preventDefault();
      if (stage === "writing") { flush(); say("compare"); } else if (stage === "comparing") say("save");
    } else if (event.key === "Escape") {
      event.preventDefault();
      flush();
      say(stage === "writing" ? "leave" : "write");
    }
  });
  let writes = "";

  const typed = later(() => say("draft", { urn: draft.urn, path: draft.path, text: area.value }));
  let draft = {};

  function flush() {
    if (typed.waits()) { typed.cancel(); say("draft", { urn: draft.urn, path: draft.path, text: area.value }); }
  }

  function drawEditor() {
    const shown = model.get("editor") || {};
    const place = shown.urn ? `${shown.urn} ${shown.path ?? ""}` : "";
    desk.hidden = !place;
    shell.panel.hidden = Boolean(place);
    shell.frame.classList.toggle("writing", Boolean(place));
    if (!place) {
      if (writes) shell.head.querySelector('[data-f="edit"]')?.focus({ preventScroll: true });
      writes = "";
      return;
    }
    const fresh = place !== writes;
    draft = { urn: shown.urn, path: shown.path ?? null };
    if (fresh || (shown.stage === "writing" && !typed.waits() && area.value !== shown.text)) area.value = shown.text;
    writes = place;
    const stage = shown.stage;
    area.readOnly = stage === "saving";
    desktop.hidden = stage !== "writing";
    deskBody.hidden = stage === "writing";
    const words = { writing: "Description of ", comparing: "What saving would change in ", saving: "Saving ", conflict: "Not saved: somebody else changed " }[stage];
    redraw(deskHead, make("h4", {}, words, make("span", { text: `«${shown.title}»` }), stage === "conflict" ? " meanwhile" : ""), make("span", { class: "dim", text: shown.hidden || "" }));
    redraw(deskBody, stage === "writing" ? [] : [
      make("div", { class: "dim line" }, (stage === "conflict" ? ["− theirs, as it is saved now", "+ yours, as you have it"] : ["− as it is saved now", "+ as you have it"])
        .map((text) => make("span", { text }))), shell.drawDiff(shown.diff)]);
    const act = (name, text, kind = "", before = null) => make("button", { type: "button", class: kind, "data-f": name, text, disabled: stage === "saving", on: { click: () => { before?.(); say(name); } } });
    const gap = make("span", { class: "gap" });
    redraw(deskFoot, ...{
      writing: [act("compare", "Compare and save …", "main", flush), gap, act("leave", "Close, keep the draft", "", flush), act("discard", "Discard", "quiet", () => typed.cancel())],
      comparing: [act("save", "Save", "main"), act("write", "Back to the text"), gap],
      saving: [act("save", "Saving …", "main"), gap],
      conflict: [act("mine", "Save mine instead", "main"), act("theirs", "Take theirs"), act("write", "Back to the text"), gap],
    }[stage]);
    if (fresh || (stage === "writing" && !desk.contains(root().activeElement))) area.focus({ preventScroll: true });
    else if (stage !== "writing" && !deskFoot.contains(root().activeElement)) deskFoot.querySelector("button")?.focus({ preventScroll: true });
  }

  function drawPreview() {
    const made = model.get("preview") || [];
    preview.replaceChildren(...(made.length ? grown(made) : [make("span", { class: "dim", text: "nothing written yet" })]));
  }

  Object.assign(shell, { desk, drawEditor, drawPreview, flush, typed });
}
