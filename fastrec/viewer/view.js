// SPDX-License-Identifier: Apache-2.0
// Everything that comes from a record is put in as text, by textContent; nothing is ever markup.
"use strict";

const PAGE = 24;
const HEADERS = ["feature", "kind", "present", "values", "range", "mean", "distinct", "histogram", "most common"];
const SVG = "http://www.w3.org/2000/svg";
const $ = (id) => document.getElementById(id);
const embedded = $("data") ? JSON.parse($("data").textContent) : null;
const state = { total: 0, all: 0, begin: 0, where: "", found: [], next: 0, end: false, turn: 0, seed: 0 };
Object.assign(state, { rows: [], gallery: false, opened: -1, features: [], plain: [] });

async function ask(path, values) {
  const answer = await fetch(`${path}?${new URLSearchParams(values)}`);
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error || "the server failed");
  return found;
}

function make(name, text, kind) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

// Text whose lines may break after the separators of names and paths.
function breakable(name, text, kind) {
  const element = make(name, undefined, kind);
  for (const part of text.split(/(?<=[/_])/)) element.append(part, document.createElement("wbr"));
  return element;
}

function grouped(count) {
  return Number(count).toLocaleString("en");
}

// Loads the first frame of a video, or the length of a sound, when it becomes visible.
const visible = new IntersectionObserver((entries) => {
  for (const each of entries.filter((one) => one.isIntersecting)) {
    each.target.preload = "metadata";
    visible.unobserve(each.target);
  }
});

function drawn(name, values) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(values)) element.setAttribute(key, value);
  return element;
}

function bars(heights, edges, unit) {
  const [wide, high] = [144, 26];
  const svg = drawn("svg", { class: "bars", width: wide, height: high, role: "img" });
  const width = Math.min(wide / heights.length, 12);
  heights.forEach((each, i) => {
    const height = each ? Math.max(1.5, each * high) : 0;
    const bar = drawn("rect", { x: i * width, y: high - height, width: width - 1, height });
    const title = drawn("title", {});
    title.textContent = `${edges[i]} to ${edges[i + 1]}${unit}`;
    bar.append(title);
    svg.append(bar);
  });
  return svg;
}

function plot(points) {
  const svg = drawn("svg", { class: "plot", width: 180, height: 34, viewBox: "0 -1 100 32", preserveAspectRatio: "none" });
  const last = Math.max(1, points.v.length - 1);
  const line = points.v.map((y, i) => `${(100 * i) / last},${30 - 30 * y}`).join(" ");
  svg.append(drawn("polyline", { class: "line", points: line, "vector-effect": "non-scaling-stroke" }));
  const box = make("div");
  box.append(svg, make("span", `${points.low} to ${points.high}`, "faint"));
  return box;
}

function pixels(found) {
  const canvas = make("canvas");
  canvas.width = found.w;
  canvas.height = found.h;
  const bytes = Uint8Array.from(atob(found.v), (c) => c.charCodeAt(0));
  const context = canvas.getContext("2d");
  const image = context.createImageData(found.w, found.h);
  for (let i = 0; i < found.w * found.h; i++) {
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = bytes[found.c === 3 ? 3 * i + c : i];
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

function media(cell, number, name) {
  const isImage = cell.t === "image";
  const box = make("div");
  const element = make(isImage ? "img" : cell.t);
  const source = cell.src || (cell.i === undefined ? "" : `media?${new URLSearchParams({ number, name, i: cell.i })}`);
  if (isImage) {
    element.alt = name;
    element.loading = "lazy";
  } else {
    element.controls = true;
    element.preload = "none";
    visible.observe(element);
  }
  if (source) {
    element.src = source;
    const picture = make("span", undefined, "picture");
    picture.append(element);
    box.append(isImage ? picture : element);
  }
  const size = cell.w ? ` ${cell.w}x${cell.h}` : "";
  box.append(make("span", `${cell.kind}${size}, ${grouped(cell.n)} bytes`, "faint"));
  return box;
}

function show(cell, number, name) {
  const box = make("div");
  if (["image", "audio", "video"].includes(cell.t)) box.append(media(cell, number, name));
  else if (cell.t === "text") {
    box.append(make("div", cell.v, "text"));
    if (cell.v.length < cell.n) box.append(make("span", `... ${grouped(cell.n)} characters`, "faint"));
  } else if (cell.t === "bytes") {
    box.append(make("div", cell.v, "text"), make("span", `${grouped(cell.n)} bytes`, "faint"));
  } else if (cell.t === "list") {
    const isStrip = cell.v.length > 1 && cell.v.every((each) => each.t === "image");
    const list = isStrip ? make("div", undefined, "strip") : box;
    for (const each of cell.v) list.append(show(each, number, name));
    if (isStrip) box.append(player(list), list);
    if (cell.repeated) box.append(make("span", `${grouped(cell.n)} equal values`, "faint"));
    else if (cell.v.length < cell.n) box.append(make("span", `the first ${cell.v.length} of ${grouped(cell.n)} values`, "faint"));
  } else if (cell.t === "frames") {
    const lines = cell.plots || [];
    for (const each of lines) box.append(plot(each));
    for (const each of lines.length ? [] : cell.v) box.append(make("div", each, "text"));
    box.append(make("span", `${grouped(cell.n)} ${cell.n === 1 ? "frame" : "frames"}`, "faint"));
  } else {
    if (cell.text) box.append(make("div", cell.text, "text"));
    if (cell.pixels) box.append(pixels(cell.pixels));
    if (cell.plot && !cell.text) box.append(plot(cell.plot));
    if (cell.v.length) box.append(make("div", cell.v.join(", ") + (cell.v.length < cell.n ? ", ..." : "")));
    const shape = cell.shape ? cell.shape.join("x") : `${grouped(cell.n)} values`;
    if (cell.n > 1) box.append(make("span", shape, "faint"));
  }
  return box;
}

// Plays the images of a strip, one after the other, in place of the first.
function player(strip) {
  const button = make("button", "Play");
  button.type = "button";
  let timer = null;
  button.addEventListener("click", (event) => {
    event.stopPropagation();
    if (timer !== null) {
      clearInterval(timer);
      timer = null;
      button.textContent = "Play";
      return;
    }
    const images = [...strip.querySelectorAll("img")];
    const sources = images.map((each) => each.src);
    let at = 0;
    button.textContent = "Stop";
    timer = setInterval(() => {
      if (!strip.isConnected) return clearInterval(timer);
      at = (at + 1) % sources.length;
      images[0].src = sources[at];
    }, 150);
  });
  return button;
}

// Boxes whose four sides are features such as image/object/bbox/xmin, from 0 to 1.
function boxes(row, image) {
  const sides = {};
  for (const [name, cell] of Object.entries(row.cells || {})) {
    const found = name.match(/(?:^|[/_])(xmin|ymin|xmax|ymax)$/);
    if (found && cell.t === "numbers") sides[found[1]] = cell.v.map(Number);
  }
  const { xmin, ymin, xmax, ymax } = sides;
  if (!xmin || !ymin || !xmax || !ymax) return null;
  const [wide, high] = [image.w || 1, image.h || 1];
  const svg = drawn("svg", { class: "boxes", viewBox: `0 0 ${wide} ${high}` });
  xmin.forEach((x, i) => {
    const [width, height] = [xmax[i] - x, ymax[i] - ymin[i]];
    const valid = [x, ymin[i], width, height].every((each) => each >= 0 && each <= 1.001);
    if (!valid) return;
    const place = { x: x * wide, y: ymin[i] * high, width: width * wide, height: height * high };
    svg.append(drawn("rect", place));
  });
  return svg.childNodes.length ? svg : null;
}

function imageOf(row) {
  for (const [name, cell] of Object.entries(row.cells || {})) {
    const image = cell.t === "image" ? cell : cell.t === "list" && cell.v.find((each) => each.t === "image");
    if (image) return [name, image];
  }
  return ["", null];
}

// A mask is an image of the same size as the first one, in a feature whose name says so.
function maskOf(row, name, image) {
  for (const [other, cell] of Object.entries(row.cells || {})) {
    const isMask = /(mask|segmentation)/i.test(other.split("/").slice(-2).join("/"));
    if (other !== name && isMask && cell.t === "image" && cell.w === image.w && cell.h === image.h) return [other, cell];
  }
  return null;
}

function withBoxes(element, row) {
  const [name, image] = imageOf(row);
  const picture = element.querySelector(".picture");
  if (!image || !picture) return element;
  const mask = maskOf(row, name, image);
  const overlay = mask && media(mask[1], row.number, mask[0]).querySelector("img");
  if (overlay) {
    overlay.className = "mask";
    picture.append(overlay);
  }
  const found = boxes(row, image);
  if (found) picture.append(found);
  return element;
}

// Images come first, then sounds and videos, then all other features in the order of their names.
function rank(cell) {
  const kind = cell.t === "list" && cell.v.length ? cell.v[0].t : cell.t;
  return kind === "image" ? 0 : kind === "video" || kind === "audio" ? 1 : 2;
}

function list(row) {
  const list = make("dl");
  const entries = Object.entries(row.cells || {});
  for (const [name, cell] of entries.sort((a, b) => rank(a[1]) - rank(b[1]))) {
    const value = make("dd");
    value.append(show(cell, row.number, name));
    list.append(breakable("dt", name), value);
  }
  if (row.raw) {
    const value = make("dd");
    value.append(show(row.raw, row.number, ""));
    list.append(make("dt", "record"), value);
  }
  return withBoxes(list, row);
}

// The first text or single number of a record, which is usually its class or name.
function caption(row) {
  const parts = [];
  for (const [name, cell] of Object.entries(row.cells || {})) {
    if (cell.t === "text" && cell.v.length < 40) parts.push(cell.v);
    else if (cell.t === "numbers" && cell.n === 1) parts.push(`${name.split("/").pop()} ${cell.v[0]}`);
  }
  return parts.slice(0, 3).join(", ") || `record ${row.record}`;
}

function tile(row) {
  const tile = make("article", undefined, row.error ? "card tile damaged" : "card tile");
  tile.tabIndex = 0;
  const [name, image] = imageOf(row);
  if (image) {
    const box = withBoxes(media(image, row.number, name), row);
    if (box.querySelector(".picture")) tile.append(box.querySelector(".picture"));
  }
  const text = make("p", row.error || caption(row), row.error ? "bad" : "caption");
  text.title = `${row.number}: record ${row.record} of ${row.path}`;
  tile.append(text);
  return activated(tile, row);
}

function place(row) {
  const size = row.size === undefined ? "" : `, ${grouped(row.size)} bytes`;
  const file = row.path.split("/").pop() || row.path;
  const text = breakable("p", `${row.number}: record ${row.record} of ${file}${size}`, "place");
  text.title = row.path;
  return text;
}

function card(row) {
  const card = make("article", undefined, row.error ? "card damaged" : "card");
  card.tabIndex = 0;
  card.append(place(row));
  if (row.error) card.append(make("p", row.error, "bad"));
  else card.append(list(row));
  return activated(card, row);
}

function activated(card, row) {
  const open = () => detail(row);
  card.addEventListener("click", (event) => event.target.closest("audio, video") || open());
  card.addEventListener("keydown", (event) => event.key === "Enter" && open());
  return card;
}

async function detail(row) {
  const full = embedded || row.error ? row : await ask("api/record", { number: row.number });
  const box = $("detail").lastElementChild;
  box.replaceChildren(place(full), full.error ? make("p", full.error, "bad") : list(full));
  state.opened = state.rows.findIndex((each) => each.number === row.number);
  $("earlier").disabled = state.opened < 1;
  $("later").disabled = state.opened < 0 || state.opened + 1 >= state.rows.length;
  if (!$("detail").open) $("detail").showModal();
}

function beside(step) {
  const row = state.rows[state.opened + step];
  if (row) detail(row);
}

function put(rows) {
  state.rows = rows;
  $("records").className = state.gallery ? "gallery" : "";
  $("records").replaceChildren(...rows.map(state.gallery ? tile : card));
  const last = state.where ? state.begin + rows.length : Math.min(state.total, state.begin + rows.length);
  const of = state.where ? `${state.found.length}${state.end ? "" : " or more"} found` : `${state.total}`;
  $("where-am-i").textContent = rows.length ? `${state.begin + 1} to ${last} of ${of}` : `none of ${of}`;
  $("first").disabled = $("previous").disabled = state.begin === 0;
  const more = state.where ? last < state.found.length || !state.end : last < state.total;
  $("next").disabled = !more;
  $("last").disabled = !more || Boolean(state.where);
  $("number").value = state.begin;
}

async function go(begin) {
  const turn = ++state.turn;
  $("message").textContent = "";
  state.begin = Math.max(0, begin);
  try {
    if (state.where) return await goSearch(turn);
    state.begin = Math.min(state.begin, Math.max(0, state.total - 1));
    const [order, by] = $("order").value.split(":", 2);
    const options = { order: order === "down" ? "sort" : order, by: by || "", down: order === "down" ? 1 : 0 };
    const answer = embedded
      ? { records: embeddedRecords().slice(state.begin, state.begin + PAGE) }
      : await ask("api/page", { begin: state.begin, count: PAGE, seed: state.seed, ...options });
    if (turn !== state.turn) return;
    if (answer.total !== undefined) state.total = answer.total;
    put(answer.records);
  } catch (error) {
    if (turn === state.turn) $("message").textContent = error.message;
  }
}

// The records of a single page in the chosen order; a seed gives the same order again.
function embeddedRecords() {
  if ($("order").value !== "random") return embedded.records;
  let value = state.seed + 1;
  const keyed = embedded.records.map((row) => {
    value = (value * 48271) % 2147483647;
    return [value, row];
  });
  return keyed.sort((a, b) => a[0] - b[0]).map((each) => each[1]);
}

async function goSearch(turn) {
  while (state.found.length < state.begin + PAGE + 1 && !state.end) {
    const answer = await ask("api/search", { where: state.where, begin: state.next, count: PAGE + 1 });
    if (turn !== state.turn) return;
    state.found.push(...answer.records);
    state.next = answer.next;
    state.end = answer.end;
    $("where-am-i").textContent = `looked at ${state.next} of ${state.total}`;
  }
  put(state.found.slice(state.begin, state.begin + PAGE));
}

function features(found) {
  const table = make("table");
  const head = make("tr");
  for (const each of HEADERS) head.append(make("th", each));
  const top = make("thead");
  top.append(head);
  const body = make("tbody");
  for (const each of found.features) {
    const row = make("tr");
    const kinds = Object.keys(each.formats);
    const [few, many] = each.lengths;
    const unit = each.kind === "bytes" ? " bytes" : "";
    const range = each.low === each.high ? each.low : `${each.low} to ${each.high}`;
    const cells = [
      breakable("td", each.name, "name"),
      make("td", kinds.length ? kinds.join(", ") : each.kind),
      make("td", `${(100 * each.present).toPrecision(3)} %`),
      make("td", few === null ? "0" : few === many ? few : `${few} to ${many}`),
      make("td", [range && range + unit, each.unusual].filter(Boolean).join(", ")),
      make("td", each.mean && each.mean + unit),
      make("td", each.distinct),
      make("td"),
      make("td", undefined, "top"),
    ];
    each.top.forEach((text, i) => cells[8].append(i ? ", " : "", make("span", text)));
    if (each.histogram.length) cells[7].append(bars(each.histogram, each.edges, unit));
    cells.forEach((cell, i) => (cell.dataset.label = HEADERS[i]));
    row.append(...cells);
    body.append(row);
  }
  table.append(top, body);
  $("features").lastElementChild.replaceChildren(table);
  $("features").hidden = !found.features.length;
}

// Whether the first records have a sound, a video or bytes that are not text in a feature.
function isOpaque(name) {
  return state.rows.some((row) => ["audio", "video", "bytes"].includes((row.cells || {})[name]?.t));
}

// Offers the dataset's own features: for sorting, and as an example of a condition.
function prepare(found) {
  const plain = found.features.filter(
    (each) => each.lengths[1] === 1 && !Object.keys(each.formats).length && !isOpaque(each.name),
  );
  for (const each of embedded ? [] : plain.slice(0, 50)) {
    for (const [kind, arrow] of [["sort", "\u2191"], ["down", "\u2193"]]) {
      const option = make("option", `${each.name} ${arrow}`);
      option.value = `${kind}:${each.name}`;
      $("order").append(option);
    }
  }
  const first = plain.find((each) => each.kind !== "bytes") || plain[0] || found.features[0];
  const word = first && quoted(first.name);
  const value = first && (first.kind === "bytes" ? '"text"' : first.low || 0);
  $("where").placeholder = !first ? "" : first.lengths[1] === 1 ? `${word} == ${value}` : `len(${word}) > 1`;
  state.plain = plain;
  for (const each of plain.slice(0, 200)) {
    const option = make("option", each.name);
    option.value = each.name;
    $("feature").append(option);
  }
  $("filter").hidden = Boolean(embedded) || !plain.length;
  chosen();
  const hasImages = found.features.some((each) => Object.keys(each.formats).length);
  $("gallery").hidden = !hasImages;
}

function quoted(name) {
  return /^[\w/.:-]+$/.test(name) ? name : `\`${name}\``;
}

// Offers the values that a feature has: its common ones, or the range of its numbers.
function chosen() {
  const each = state.plain.find((one) => one.name === $("feature").value);
  $("value").value = "";
  $("value").placeholder = !each ? "" : each.kind === "bytes" ? "text" : `${each.low} to ${each.high}`;
  for (const option of $("comparison").options) option.disabled = each && each.kind === "bytes" ? /[<>]/.test(option.value) : option.value === "=~";
  if ($("comparison").selectedOptions[0].disabled) $("comparison").value = "==";
}

// Adds a condition of the widgets to those in the search field.
function filter(event) {
  event.preventDefault();
  const each = state.plain.find((one) => one.name === $("feature").value);
  const text = $("value").value.trim();
  if (!each || !text) return;
  const value = each.kind === "bytes" ? JSON.stringify(text) : text;
  const one = `${quoted(each.name)} ${$("comparison").value} ${value}`;
  const before = $("where").value.trim();
  $("where").value = before ? `${before} and ${one}` : one;
  $("search").requestSubmit();
}

async function start() {
  const found = embedded ? embedded.summary : await ask("api/summary", {});
  state.total = embedded ? embedded.records.length : found.records;
  const names = found.files.length > 3 ? `${found.files.length} files` : found.files.join(", ");
  const parts = [names, `${grouped(found.records)} ${found.records === 1 ? "record" : "records"}`];
  if (found.sizes) parts.push(`${found.sizes} each`);
  if (found.looked_at < found.records) parts.push(`features of ${found.looked_at} drawn at random`);
  if (embedded && state.total < found.records) parts.push(`the first ${state.total} are in this page`);
  if (found.note) parts.push(found.note);
  $("about").textContent = parts.join(" \u00b7 ");
  state.all = state.total;
  features(found);
  $("damage").hidden = !found.damage.length;
  for (const each of found.damage.slice(0, 100)) {
    const size = each.bytes === null ? "" : `; ${each.bytes} bytes are lost`;
    $("damage").lastElementChild.append(make("li", `${each.path}: ${each.reason}${size}`));
  }
  $("search").hidden = Boolean(embedded);
  await go(0);
  prepare(found);
}

function toggleGallery() {
  state.gallery = !state.gallery && !$("gallery").hidden;
  $("gallery").setAttribute("aria-pressed", String(state.gallery));
  $("sizes").hidden = !state.gallery;
  put(state.rows);
}

function keyed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const isOpen = $("detail").open;
  const actions = {
    ArrowLeft: () => (isOpen ? beside(-1) : $("previous").click()),
    ArrowRight: () => (isOpen ? beside(1) : $("next").click()),
    Home: () => isOpen || $("first").click(),
    End: () => isOpen || $("last").click(),
    "/": () => isOpen || $("where").focus(),
    g: () => isOpen || toggleGallery(),
    r: () => isOpen || shuffle(),
  };
  if (!Object.hasOwn(actions, event.key)) return;
  event.preventDefault();
  actions[event.key]();
}

function shuffle() {
  state.seed = Math.floor(Math.random() * 1000000);
  $("order").value = "random";
  state.total = state.all;
  go(0);
}

document.addEventListener("keydown", keyed);
$("gallery").addEventListener("click", toggleGallery);
$("size").addEventListener("input", () => $("records").style.setProperty("--tile", `${$("size").value}px`));
$("order").addEventListener("change", () => {
  if ($("order").value === "random") return shuffle();
  state.total = state.all;
  go(0);
});
$("feature").addEventListener("change", chosen);
$("filter").addEventListener("submit", filter);
$("earlier").addEventListener("click", () => beside(-1));
$("later").addEventListener("click", () => beside(1));
$("first").addEventListener("click", () => go(0));
$("previous").addEventListener("click", () => go(state.begin - PAGE));
$("next").addEventListener("click", () => go(state.begin + PAGE));
$("last").addEventListener("click", () => go(Math.floor((state.total - 1) / PAGE) * PAGE));
$("number").addEventListener("change", () => go(Number($("number").value) || 0));
$("clear").addEventListener("click", () => {
  $("where").value = "";
  $("search").requestSubmit();
});
$("search").addEventListener("submit", (event) => {
  event.preventDefault();
  Object.assign(state, { where: $("where").value.trim(), found: [], next: 0, end: false });
  $("clear").hidden = !state.where;
  go(0);
});
start().catch((error) => ($("message").textContent = error.message));
