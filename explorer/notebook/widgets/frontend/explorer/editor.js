// The editor. `writes` says of a shell what is written, what ctrl+s does with it, and which buttons
// stand below it: each the message it sends, its label and its kind.
const DESCRIPTIONS = {
  of: "Description of ", done: "compare",
  acts: [["compare", "Compare and save …", "main"], null, ["leave", "Close, keep the draft", ""], ["discard", "Discard", "quiet"]],
};

function addEditor(shell) {
  const { kernel, model, redraw, root, say, writes: wanted = DESCRIPTIONS } = shell;
  const desk = make("div", { class: "cx-desk", hidden: true });
  const area = make("textarea", { "aria-label": "Description, markdown", spellcheck: "true", on: { input: () => type(), scroll: () => followText() } });
  const preview = make("div", { class: "cx-prose cx-preview", "aria-label": "Preview", role: "region", tabindex: "0" });
  const desktop = make("div", { class: "cx-two" }, make("div", { class: "cx-half" }, make("div", { class: "cx-label", text: "Markdown" }), area),
    make("div", { class: "cx-half" }, make("div", { class: "cx-label", text: "Preview" }), preview));
  const deskHead = make("div", { class: "cx-line" });
  const deskBody = make("div", { class: "cx-compare" });
  const deskFoot = make("div", { class: "cx-line cx-foot" });
  const deskNote = make("div", { class: "cx-dim cx-line" });
  const copied = make("span", { class: "cx-dim", role: "status" });
  const away = make("div", { class: "cx-away", role: "alert", hidden: true });
  desk.append(deskHead, deskNote, desktop, deskBody, deskFoot);
  // The one key with ctrl that is the editor's rather than the notebook's.
  const editorKey = (event) => (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s" && desk.contains(event.target);
  desk.addEventListener("keydown", (event) => {
    const stage = (model.get("editor") || {}).stage;
    if (editorKey(event)) {
      event.preventDefault();
      if (stage === "writing") { flush(); say(wanted.done); } else if (stage === "comparing") say("save");
    } else if (event.key === "Escape") {
      event.preventDefault();
      flush();
      say(stage === "writing" ? "leave" : "write");
    }
  });
  // The text of `typed` is what all views of this widget show. Each letter typed makes a new revision
  // of it, with the mark of its view; a view never takes its own back, nor one that is older than what
  // it shows, so that nothing on its way moves the cursor or drops a letter.
  let draft = {}, writes = "", revision = 0;
  const now = () => ({ ...draft, text: area.value, revision, view: kernel.mark });
  const typed = later(() => say("draft", now()));

  function type() {
    revision += 1;
    model.set("typed", now());
    if (kernel.is() !== "gone") model.save_changes();
    typed();
  }

  // Said as a message too, which is answered, and which nothing that is pressed next overtakes.
  function flush() {
    if (typed.waits()) { typed.cancel(); say("draft", now()); }
  }

  function drawTyped() {
    const told = model.get("typed") || {};
    if (told.urn !== draft.urn || (told.path ?? null) !== draft.path) return;
    if (told.view === kernel.mark || told.revision < revision) return;
    revision = told.revision;
    typed.cancel();
    put(told.text);
  }

  // A cursor stays at its letter, also where text before it changes.
  function put(text) {
    const before = area.value;
    if (text === before) return;
    const at = root().activeElement === area ? [area.selectionStart, area.selectionEnd] : null;
    area.value = text;
    if (!at) return;
    let same = 0;
    while (same < before.length && before[same] === text[same]) same += 1;
    area.setSelectionRange(...at.map((one) => one <= same ? one : Math.max(same, one + text.length - before.length)));
  }

  async function copy() {
    area.focus({ preventScroll: true });
    area.select();
    // Only a page that was fetched safely has a clipboard.
    try { await navigator.clipboard.writeText(area.value); } catch { document.execCommand("copy"); }
    copied.textContent = "Copied.";
  }

  function drawAway() {
    const is = kernel.is(), writing = Boolean(draft.urn);
    copied.textContent = "";
    away.hidden = !is;
    redraw(away, make("span", { text: AWAY[is] + (is && writing ? " Your text is still below; copy it, for what you type now is kept nowhere else." : "") }),
      is && writing ? make("button", { type: "button", "data-f": "copy", text: "Copy the text", on: { click: copy } }) : null, copied);
  }

  function drawEditor() {
    const shown = model.get("editor") || {};
    const place = shown.urn ? `${shown.urn} ${shown.path ?? ""}` : "";
    // Of several views of one widget only that takes the focus which the reader is in.
    const here = shell.here();
    desk.hidden = !place;
    shell.panel.hidden = Boolean(place);
    shell.frame.classList.toggle("cx-writing", Boolean(place));
    if (!place) {
      // The focus goes back to the pencil that was pressed: the column's, or the entity's.
      if (writes && here) {
        const pencils = [...shell.panel.querySelectorAll("[data-f]"), ...shell.head.querySelectorAll("[data-f]")];
        const named = (name) => pencils.find((one) => one.dataset.f === name);
        (named(`edit ${draft.path}`) || named("edit"))?.focus({ preventScroll: true });
      }
      writes = "";
      draft = {};
      drawAway();
      return;
    }
    const fresh = place !== writes;
    if (fresh) {
      typed.cancel();
      draft = { urn: shown.urn, path: shown.path ?? null };
      writes = place;
      const told = model.get("typed") || {}, mine = told.urn === draft.urn && (told.path ?? null) === draft.path;
      revision = mine ? told.revision : 0;
      area.value = mine ? told.text : "";
    }
    const stage = shown.stage;
    area.readOnly = stage === "saving" && !kernel.is();
    desktop.hidden = stage !== "writing" && !kernel.is();
    deskBody.hidden = stage === "writing";
    const words = { writing: wanted.of, comparing: "What saving would change in ", saving: "Saving ", conflict: "Not saved: somebody else changed " }[stage];
    redraw(deskHead, make("h4", {}, words, make("span", { text: `«${shown.title}»` }), stage === "conflict" ? " meanwhile" : ""), make("span", { class: "cx-dim", text: shown.hidden || "" }));
    redraw(deskNote, shown.note || "");
    deskNote.hidden = !shown.note;
    redraw(deskBody, stage === "writing" ? [] : [
      make("div", { class: "cx-dim cx-line" }, (stage === "conflict" ? ["− theirs, as it is saved now", "+ yours, as you have it"] : ["− as it is saved now", "+ as you have it"])
        .map((text) => make("span", { text }))), shell.drawDiff(shown.diff)]);
    const act = (name, text, kind = "", before = null) => make("button", { type: "button", class: kind && `cx-${kind}`, "data-f": name, text, disabled: stage === "saving" || kernel.is() === "gone", on: { click: () => { before?.(); say(name); } } });
    const gap = make("span", { class: "cx-gap" });
    redraw(deskFoot, ...{
      writing: wanted.acts.map((one) => one ? act(...one, one[0] === "discard" ? () => typed.cancel() : flush) : gap),
      comparing: [act("save", "Save", "main"), act("write", "Back to the text"), gap],
      saving: [act("save", "Saving …", "main"), gap],
      conflict: [act("mine", "Save mine instead", "main"), act("theirs", "Take theirs"), act("write", "Back to the text"), gap],
    }[stage]);
    drawAway();
    if (!here) return;
    if (fresh || (stage === "writing" && !desk.contains(root().activeElement))) area.focus({ preventScroll: true });
    // Enter pressed once more than needed does not replace the text that somebody else wrote.
    else if (stage !== "writing" && !deskFoot.contains(root().activeElement)) deskFoot.querySelector(stage === "conflict" ? "[data-f=write]" : "button")?.focus({ preventScroll: true });
  }

  // The preview shows about the part of the text that the editor shows.
  function followText() {
    const rest = area.scrollHeight - area.clientHeight;
    if (rest > 0) preview.scrollTop = area.scrollTop / rest * (preview.scrollHeight - preview.clientHeight);
  }

  function drawPreview() {
    const made = model.get("preview") || [];
    preview.replaceChildren(...(made.length ? grown(made) : [make("span", { class: "cx-dim", text: "nothing written yet" })]));
    followText();
  }

  Object.assign(shell, { away, desk, drawEditor, drawPreview, drawTyped, editorKey, flush, typed });
}
