// The page of an entity.
const TABS = {
  overview: "Overview", columns: "Columns", lineage: "Lineage", usage: "Usage", profile: "Profile",
  history: "History",
};

function addEntity(shell) {
  const { model, own, redraw, root, say } = shell;
  const head = make("div", { class: "cx-head" });
  const tabs = make("div", { class: "cx-tabs", role: "tablist", "aria-label": "Tabs", on: { keydown: tabsKey } });
  const panel = make("div", { class: "cx-panel", role: "tabpanel", id: `${own}-panel`, tabindex: "0" });
  let seen = null, left = "";

  function open(urn) {
    left = urn;
    seen = "go";
    say("open", { urn });
  }

  function drawPage() {
    const shown = model.get("page") || {};
    shell.frame.classList.toggle("cx-open", Boolean(shown.urn));
    shell.drawTree();
    shell.drawFind();
    if (!shown.urn) {
      if (seen === "back") ([...shell.results.querySelectorAll(".cx-hit")].find((one) => one.dataset.f === left) || shell.box).focus();
      seen = null;
      return;
    }
    redraw(head,
      make("div", { class: "cx-line" },
        make("h3", { tabindex: "-1", "data-f": "name" }, ...breakable(shown.name)),
        copyButton(shown.name, `copy the name ${shown.name}`, { "data-f": "copy name" }),
        make("span", { class: "cx-dim", text: (shown.facts || []).join(" · ") }),
        make("span", { class: "cx-gap" }),
        shown.tabs?.length && !shown.why_not ? make("button", { type: "button", "data-f": "edit", text: (shown.drafts || []).includes(null) ? "✎ Go on writing" : "✎ Edit description", on: { click: () => say("edit") } }) : null,
        make("button", { type: "button", class: "cx-quiet", "data-f": "back", title: "back to the results", "aria-label": "close, back to the results", text: "✕",
          on: { click: back } })),
      make("div", { class: "cx-urn" }, shown.urn, copyButton(shown.urn, "copy the URN", { "data-f": "copy urn" })),
      (shown.states || []).map((one) => make("div", { class: "cx-state", text: one })),
      shown.why_not ? make("div", { class: "cx-dim", text: shown.why_not }) : null,
      (shown.drafts || []).length ? make("div", { class: "cx-dim", text: `${shown.drafts.length} ${shown.drafts.length === 1 ? "draft is" : "drafts are"} kept here, not saved` }) : null);
    drawTabs();
    // Its rows say which columns have a draft, and whether they may be edited.
    if ((model.get("tab") || {}).tab === "columns") drawTab();
    if (seen === "go") { head.querySelector("h3").focus({ preventScroll: true }); panel.scrollTop = 0; }
    seen = null;
  }

  function back() {
    seen = "back";
    say("back");
  }

  function drawTabs() {
    const shown = model.get("page") || {}, now = (model.get("tab") || {}).tab;
    redraw(tabs, (shown.tabs || []).map((one) => make("button", {
      type: "button", role: "tab", id: `${own}-tab-${one}`, "data-f": one, "aria-selected": String(one === now), "aria-controls": `${own}-panel`,
      tabindex: one === now ? "0" : "-1", text: TABS[one] || one, on: { click: () => turn(one) },
    })));
    panel.setAttribute("aria-labelledby", `${own}-tab-${now}`);
  }

  function turn(tab) {
    if (model.get("editor")?.urn) { shell.flush(); say("leave"); }
    say("tab", { tab });
  }

  function tabsKey(event) {
    const all = (model.get("page") || {}).tabs || [];
    const here = all.indexOf((model.get("tab") || {}).tab);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || here < 0) return;
    event.preventDefault();
    const next = all[(here + step + all.length) % all.length];
    for (const one of tabs.children) if (one.dataset.f === next) { one.tabIndex = 0; one.focus(); }
    turn(next);
  }

  function drawTab() {
    const shown = model.get("tab") || {};
    drawTabs();
    if (shown.tab !== "lineage" || shown.reading || !shown.sides) shell.leaveDrawing();
    if (!shown.tab) { redraw(panel); return; }
    if (shown.reading) { redraw(panel, make("p", { class: "cx-dim", text: "reading …" })); return; }
    const body = shell.bodies[shown.tab];
    const parts = shell.drawParts(shown.parts);
    redraw(panel, body ? body(shown, parts) : parts);
  }

  Object.assign(shell, { back, drawPage, drawTab, head, open, panel, tabs });
}
