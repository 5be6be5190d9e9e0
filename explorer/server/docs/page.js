"use strict";
(() => {
  const base = document.body.dataset.base;
  const example = "urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_created,PROD)";
  const narrow = matchMedia("(max-width: 56rem)");
  const contents = document.querySelector(".contents");
  const fold = () => { contents.open = !narrow.matches; };
  narrow.addEventListener("change", fold);
  fold();
  contents.addEventListener("click", (event) => {
    if (narrow.matches && event.target.tagName === "A") contents.open = false;
  });

  const reveal = () => {
    const place = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (place && place.tagName === "DETAILS") place.open = true;
    if (place) place.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  const find = document.getElementById("find");
  const count = document.getElementById("count");
  const named = [...document.querySelectorAll("[data-find]")];
  find.addEventListener("input", () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const one of named) {
      const fits = words.every((word) => one.dataset.find.includes(word));
      one.hidden = !fits;
      shown += fits;
    }
    for (const section of document.querySelectorAll("main > section")) {
      section.hidden = words.length > 0 && !section.querySelector("[data-find]:not([hidden])");
    }
    count.textContent = words.length ? `${shown} of ${named.length}` : "";
  });
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      find.focus();
    }
  });

  const token = () => document.getElementById("token").value.trim();

  const request = (trial) => {
    if (trial.dataset.graphql !== undefined) {
      const query = trial.querySelector(".document").value;
      const variables = trial.querySelector(".variables").value.trim();
      const said = variables ? JSON.parse(variables) : {};
      return ["POST", `${base}/api/graphql`, JSON.stringify({ query, variables: said }, null, 2)];
    }
    const body = trial.querySelector(".body");
    return [trial.dataset.method, base + trial.querySelector(".path").value, body && body.value];
  };

  const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

  const curl = ([method, path, body]) => {
    const parts = [`curl -X ${method} ${shell(location.origin + path)}`];
    if (token()) parts.push(`-H "Authorization: Bearer $CATALOG_TOKEN"`);
    if (body) parts.push("-H 'Content-Type: application/json'", `-d ${shell(body)}`);
    return parts.join(" \\\n  ");
  };

  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };

  const send = async (trial) => {
    const outcome = trial.querySelector(".outcome");
    const answer = trial.querySelector(".answer");
    outcome.className = "outcome";
    outcome.textContent = "…";
    const begun = performance.now();
    try {
      const [method, path, body] = request(trial);
      const headers = {};
      if (body) headers["Content-Type"] = "application/json";
      if (token()) headers.Authorization = `Bearer ${token()}`;
      const stop = new AbortController();
      const timer = setTimeout(() => stop.abort(), 20000);
      const got = await fetch(path, { method, headers, body: body || undefined, signal: stop.signal });
      let text = await got.text();
      clearTimeout(timer);
      try {
        text = JSON.stringify(JSON.parse(text), null, 2);
      } catch { /* not JSON: shown as it came */ }
      const cut = text.length > 200000;
      answer.textContent = cut ? `${text.slice(0, 200000)}\n… cut here` : text;
      answer.hidden = text === "";
      const took = Math.round(performance.now() - begun);
      outcome.textContent = `${got.status} ${got.statusText} in ${took} ms`;
      outcome.classList.toggle("failed", !got.ok);
    } catch (error) {
      outcome.textContent = error.name === "AbortError" ? "no answer within 20 seconds" : error.message;
      outcome.classList.add("failed");
    }
  };

  document.addEventListener("click", async (event) => {
    const trial = event.target.closest(".trial");
    if (!trial) return;
    if (event.target.classList.contains("send")) await send(trial);
    if (event.target.classList.contains("copy")) {
      const outcome = trial.querySelector(".outcome");
      try {
        await copy(curl(request(trial)));
        outcome.textContent = "copied";
      } catch (error) {
        outcome.textContent = error.message;
      }
    }
  });

  // The examples speak of a dataset that this catalog has, if it has one.
  const settle = async () => {
    const asked = { input: "*", entity: "dataset", start: 0, count: 1 };
    const got = await fetch(`${base}/entities?action=search`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Catalog-Dialect": "plain" },
      body: JSON.stringify(asked),
    });
    if (!got.ok) return;
    const [found] = (await got.json()).value.entities;
    if (!found) return;
    const encode = (urn) => encodeURIComponent(urn).replace(/[()]/g, (one) => (one === "(" ? "%28" : "%29"));
    for (const field of document.querySelectorAll(".trial input, .trial textarea")) {
      field.value = field.value.replaceAll(example, found).replaceAll(encode(example), encode(found));
      field.defaultValue = field.value;
    }
  };
  settle().catch(() => {});
})();
