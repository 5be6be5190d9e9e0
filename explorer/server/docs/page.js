"use strict";
(() => {
  const api = JSON.parse(document.getElementById("description").textContent);
  const base = api.servers[0].url.replace(/\/$/, "");
  const { schemas } = api.components;
  const aspects = api["x-aspects"];
  const entities = api["x-entities"];
  const example = api["x-example"];
  const aspectOf = {};
  for (const [name, { record }] of Object.entries(aspects)) aspectOf[record] = name;

  const element = (name, attributes, ...content) => {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) if (value) node.setAttribute(key, value);
    node.append(...content.flat(2).filter(Boolean));
    return node;
  };
  const code = (text) => element("code", {}, text);
  const span = (kind, text) => element("span", { class: kind }, text);
  const link = (kind, name, text = name) => element("a", { href: `#${kind}-${name}` }, text);
  const join = (parts, between) => parts.flatMap((part, at) => (at ? [between, part] : [part]));
  const names = (before, parts) => element("p", { class: "names" }, before, join(parts, " "));
  const short = (name) => name.split(".").pop();
  const sorted = (named, key = (name) => name) =>
    Object.keys(named).sort((one, other) => key(one).localeCompare(key(other), "en"));
  const table = (titles, rows) => {
    const head = element("tr", {}, titles.map((title) => element("th", { scope: "col" }, title)));
    const body = rows.map((row) => element("tr", {}, row.map((cell) => element("td", {}, cell))));
    const whole = element("table", {}, element("thead", {}, head), element("tbody", {}, body));
    return element("div", { class: "wide", tabindex: "0" }, whole);
  };
  // A collapsed part of the page, which the search finds by the text `find`.
  const entry = (id, find, head, ...content) =>
    element("details", { id, "data-find": find.toLowerCase() }, element("summary", {}, head),
      element("div", { class: "inside" }, content));
  const parameter = (name, required) =>
    [code(name), ...(required ? [" ", span("required", "required")] : [])];

  // The name of a schema, in which records are links.
  const type = (schema) => {
    if (schema.$ref) {
      const name = schema.$ref.slice("#/components/schemas/".length);
      const aspect = aspectOf[name];
      return aspect ? link("aspect", aspect, short(name)) : link("record", name, short(name));
    }
    if (schema.items) return ["array of ", type(schema.items)].flat();
    if (schema.additionalProperties) return ["map of ", type(schema.additionalProperties)].flat();
    if (schema.maxProperties) return join(Object.values(schema.properties).map(type), " or ").flat();
    return schema.title || schema.format || [schema.type || "any"].flat().join(" or ");
  };
  const fields = (schema) => {
    if (schema.enum) return names("", schema.enum.map(code));
    const rows = Object.entries(schema.properties || {})
      .map(([name, field]) => [parameter(name, schema.required.includes(name)), type(field)]);
    return rows.length ? table(["Field", "Type"], rows) : element("p", {}, "No fields.");
  };

  const encode = (text) =>
    encodeURIComponent(text).replace(/[()]/g, (sign) => (sign === "(" ? "%28" : "%29"));
  const encodeValue = (value) => encodeURIComponent(value).replace(/%2C/g, ",").replace(/%2F/g, "/");
  // The example request of an operation: its address and its body.
  const request = (path, operation) => {
    const query = [];
    for (const { name, in: place, example: value } of operation.parameters) {
      // A key with a slash, such as dataset/batchGet, is a path and is not encoded.
      const key = value?.includes?.("/") ? value : encode(value);
      if (place === "path") path = path.replace(`{${name}}`, key);
      if (place !== "query" || value === undefined) continue;
      query.push(...[value].flat().map((each) => `${encode(name)}=${encodeValue(each)}`));
    }
    if (query.length) path += (path.includes("?") ? "&" : "?") + query.join("&");
    return [path, operation.requestBody?.content["application/json"].example];
  };

  // The examples speak of a dataset that this catalog has, if it has one.
  const findDataset = async () => {
    const headers = { "Content-Type": "application/json", "X-Catalog-Dialect": "plain" };
    const body = JSON.stringify({ input: "*", entity: "dataset", start: 0, count: 1 });
    const signal = AbortSignal.timeout(2000);
    const request = { method: "POST", headers, body, signal };
    const response = await fetch(`${base}/entities?action=search`, request);
    return response.ok ? (await response.json()).value.entities[0] : undefined;
  };
  const dataset = findDataset().catch(() => undefined);

  const token = () => document.getElementById("token").value.trim();
  const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const curl = (method, path, body) => {
    const parts = [`curl -X ${method} ${shell(location.origin + path)}`];
    if (token()) parts.push(`-H "Authorization: Bearer $CATALOG_TOKEN"`);
    if (body) parts.push("-H 'Content-Type: application/json'", `-d ${shell(body)}`);
    return parts.join(" \\\n  ");
  };
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = element("textarea", {});
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  const send = async (method, path, body) => {
    const headers = {};
    if (body) headers["Content-Type"] = "application/json";
    if (token()) headers.Authorization = `Bearer ${token()}`;
    const signal = AbortSignal.timeout(20000);
    const response = await fetch(path, { method, headers, body: body || undefined, signal });
    let text = await response.text();
    try {
      text = JSON.stringify(JSON.parse(text), null, 2);
    } catch { /* not JSON: shown as it came */ }
    return [response, text.length > 200000 ? `${text.slice(0, 200000)}\n… cut here` : text];
  };

  // A form with a request that can be edited and sent, and a place for its response.
  const trial = (method, path, operation) => {
    const form = element("div", { class: "trial" });
    const field = (label, value, kind = "textarea") => {
      const input = element(kind, { class: kind === "input" && "path", spellcheck: "false" });
      input.value = value;
      input.rows = Math.min(28, value.split("\n").length);
      form.append(element("label", {}, label, input));
      return () => input.value;
    };
    const indent = (value) => JSON.stringify(value, null, 2);
    const fill = (urn) => {
      const text = JSON.stringify(operation).replaceAll(example, JSON.stringify(urn).slice(1, -1));
      const [address, body] = request(path, JSON.parse(text));
      if (body?.variables) {
        const query = field("Document", body.query);
        const values = field("Variables", indent(body.variables));
        const edited = () => ({ query: query(), variables: JSON.parse(values() || "{}") });
        return () => [base + address, indent(edited())];
      }
      const editedPath = field("Address", address, "input");
      const editedBody = body ? field("Body", indent(body)) : () => undefined;
      return () => [base + editedPath(), editedBody()];
    };
    const outcome = element("span", { class: "outcome", role: "status" });
    const answer = element("pre", { class: "answer", hidden: "hidden", tabindex: "0" });
    const button = (kind, label, run) => {
      const node = element("button", { class: kind, type: "button" }, label);
      node.addEventListener("click", async () => {
        outcome.className = "outcome";
        outcome.textContent = "…";
        try {
          await run();
        } catch (error) {
          const isLate = error.name === "TimeoutError";
          outcome.textContent = isLate ? "no answer within 20 seconds" : error.message;
          outcome.classList.add("failed");
        }
      });
      return node;
    };
    dataset.then((urn) => {
      const edited = fill(urn || example);
      const sending = button("send", "Send", async () => {
        const begun = performance.now();
        const [response, text] = await send(method, ...edited());
        const millis = Math.round(performance.now() - begun);
        answer.textContent = text;
        answer.hidden = text === "";
        outcome.textContent = `${response.status} ${response.statusText} in ${millis} ms`;
        outcome.classList.toggle("failed", !response.ok);
      });
      const copying = button("copy", "Copy as curl", async () => {
        await copy(curl(method, ...edited()));
        outcome.textContent = "copied";
      });
      form.append(element("div", { class: "buttons" }, sending, copying, outcome), answer);
    });
    return form;
  };

  const head = (method, address, summary) => [
    span(`method ${method.toLowerCase()}`, method), span("address", address), span("summary", summary),
  ];
  const gives = (content) => element("p", {}, element("b", {}, "Gives "), content);

  const operationEntry = (path, verb, operation) => {
    const method = verb.toUpperCase();
    const standings = { ours: "this service only", current: "" };
    const standing = standings[operation["x-standing"]] ?? operation["x-standing"];
    const role = operation.security[0]?.token[0];
    const body = operation.requestBody?.content["application/json"].schema;
    const rows = [
      ...operation.parameters.map((field) =>
        [parameter(field.name, field.required), field.in, type(field.schema), field.description]),
      ...Object.entries(body?.properties || {}).map(([name, schema]) =>
        [parameter(name, body.required.includes(name)), "body", type(schema), schema.description]),
    ];
    const notes = operation.description.split("\n\n").filter(Boolean);
    return entry(operation.operationId, `${method} ${path} ${operation.summary}`,
      [head(method, path, operation.summary),
        standing && span(`standing ${standing.replaceAll(" ", "-")}`, standing)],
      role && role !== "reader" && element("p", {}, element("b", {}, "Needs "), `the role ${role}`),
      rows.length && table(["Parameter", "Where", "Type", "Description"], rows),
      gives(operation.responses[200].description),
      element("ul", {}, notes.map((note) => element("li", {}, note))),
      trial(method, path, operation));
  };

  const graphqlEntry = ({ kind, name, description, arguments: rows, type: result, deprecated }) =>
    entry(`graphql-${name}`, `${kind} ${name}`, head(kind, name, description),
      rows.length && table(["Argument", "Type", ""],
        rows.map(([argument, argumentType, text]) => [code(argument), code(argumentType), text])),
      gives(code(result)), deprecated && element("p", {}, `Deprecated: ${deprecated}`));

  const entityEntry = (name) =>
    entry(`entity-${name}`, name, [code(name), span("summary mono", entities[name].urn)],
      element("p", {}, "Key aspect ", link("aspect", entities[name].aspects[0])),
      names("", entities[name].aspects.map((aspect) => link("aspect", aspect))));

  const relationships = {};
  for (const [aspect, { relationships: edges = [] }] of Object.entries(aspects)) {
    for (const edge of edges) (relationships[edge.name] ||= []).push({ aspect, to: [], ...edge });
  }

  const aspectEntry = (name) => {
    const aspect = aspects[name];
    const search = (aspect.search || []).map((field) => {
      const traits = [field.facet && "facet", field.autocomplete && "autocomplete",
        field.queried === false && "filter only", (field.weight ?? 1) !== 1 && `weight ${field.weight}`];
      const kind = field.kind.toLowerCase().replaceAll("_", " ");
      return [code(field.name), kind, code(field.path), traits.filter(Boolean).join(", ")];
    });
    const edges = (aspect.relationships || []).map((edge) =>
      [link("relationship", edge.name), code(edge.path), (edge.to || []).join(", ")]);
    const carriers = Object.keys(entities).filter((entity) => entities[entity].aspects.includes(name));
    return entry(`aspect-${name}`, name,
      [code(name), span("summary mono", aspect.record),
        aspect.timeseries && span("standing", "timeseries")],
      fields(schemas[aspect.record] || {}),
      search.length && element("h4", {}, "Searched and filtered by"),
      search.length && table(["Name", "Kind", "From", ""], search),
      edges.length && element("h4", {}, "Relationships"),
      edges.length && table(["Name", "Field", "Leads to"], edges),
      carriers.length && names("Carried by ", carriers.map((entity) => link("entity", entity))));
  };

  const relationshipEntry = (name) => {
    const rows = relationships[name].map((edge) =>
      [link("aspect", edge.aspect), code(edge.path), edge.to.join(", "),
        edge.lineage && `yes, ${edge.source_is_upstream ? "from" : "to"} the entity`]);
    return entry(`relationship-${name}`, name,
      [code(name), relationships[name].some((edge) => edge.lineage) && span("standing", "lineage")],
      table(["Aspect", "Field", "Leads to", "Lineage flows"], rows));
  };

  const recordEntry = (name) =>
    entry(`record-${name}`, short(name), [code(short(name)), span("summary mono", name)],
      fields(schemas[name]));

  const decision = ([about, decided]) =>
    element("div", { class: "decision", "data-find": `${about} ${decided}`.toLowerCase() },
      element("dt", {}, about), element("dd", {}, decided));

  const resources = {};
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      (resources[operation.tags[0]] ||= []).push(operationEntry(path, method, operation));
    }
  }
  const records = Object.fromEntries(Object.entries(schemas).filter(([name]) => !aspectOf[name]));
  const graphqlLead = element("p", {}, "Fields of the documents that are sent with ",
    link("post", "api-graphql", "POST /api/graphql"), ". Introspection is on.");
  const chapters = [
    ["Resources",
      Object.entries(resources).map(([path, entries]) => [`resource-${path}`, path, entries])],
    ["GraphQL",
      [["graphql", "Queries and mutations", [graphqlLead, api["x-graphql"].map(graphqlEntry)]]]],
    ["Model", [
      ["entities", "Entities", sorted(entities).map(entityEntry)],
      ["aspects", "Aspects", sorted(aspects).map(aspectEntry)],
      ["records", "Records and enums", sorted(records, short).map(recordEntry)],
      ["relationships", "Relationships", sorted(relationships).map(relationshipEntry)]]],
    ["Decisions",
      [["decisions", "What the specification leaves open",
        element("dl", {}, api["x-decisions"].map(decision))]]],
  ];

  const main = document.querySelector("main");
  const contents = document.querySelector(".contents");
  for (const [chapter, sections] of chapters) {
    const links = sections.map(([id, title]) => element("li", {}, element("a", { href: `#${id}` }, title)));
    contents.append(element("h3", {}, chapter), element("ul", {}, links));
    main.append(...sections.map(([id, title, parts]) =>
      element("section", { id }, element("h2", {}, title), parts)));
  }
  document.getElementById("release").textContent = api.info.version;
  document.getElementById("base").textContent = base || "/";
  document.getElementById("source").href = `${base}/openapi.json`;

  const narrow = matchMedia("(max-width: 56rem)");
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
  const named = [...document.querySelectorAll("[data-find]")];
  find.addEventListener("input", () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const part of named) part.hidden = !words.every((word) => part.dataset.find.includes(word));
    for (const section of document.querySelectorAll("main > section")) {
      section.hidden = words.length > 0 && !section.querySelector("[data-find]:not([hidden])");
    }
    const shown = named.filter((part) => !part.hidden).length;
    document.getElementById("count").textContent = words.length ? `${shown} of ${named.length}` : "";
  });
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      find.focus();
    }
  });
})();
