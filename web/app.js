// SPDX-License-Identifier: Apache-2.0
// The dashboard: asks the daemon for its figures once a second, and draws what they say.
// No library, nothing from elsewhere, nothing inline: it runs under default-src 'self'.
"use strict";

const POLL_MS = 1000; // figures
const TOP_MS = 2000; // keys
const POLICIES_MS = 10000; // limits: they change with a reload only
const TIMEOUT_MS = 5000;
const RETRY_MS_MAX = 10000;
const SPANS = [60, 120, 300]; // seconds that are drawn: the first that holds what there is
const HISTORY = SPANS[SPANS.length - 1];
const LATENCY_OVER = 10; // samples that the latency is taken from
const TOP_SHOWN = 10;
const POLICIES_SHOWN = 50; // rows of the table: the busiest, when there are more

const byId = (id) => document.getElementById(id);

/** An element with attributes, and children that are nodes or text. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function makeSvg(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    element.setAttribute(name, value);
  }
  return element;
}

// --- figures as text ----------------------------------------------------------

const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

function count(value) {
  return value < 100000 ? plain.format(value) : short.format(value);
}

/** A rate: small ones keep a digit behind the point. */
function rate(value) {
  if (value === 0 || value >= 9.95) {
    return count(value);
  }
  return value < 0.05 ? "<0.1" : value.toFixed(1);
}

function percent(part, whole) {
  if (whole === 0) {
    return "–";
  }
  const value = (100 * part) / whole;
  return (value === 0 || value >= 9.95 ? value.toFixed(0) : value < 0.1 ? "<0.1" : value.toFixed(1)) + " %";
}

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return (unit === 0 || value >= 100 ? value.toFixed(0) : value.toFixed(1)) + " " + units[unit];
}

/** "350 µs", "1.5 s", "3 min 20 s", "2 d 4 h" */
function duration(seconds) {
  if (seconds <= 0) {
    return "0 s";
  }
  if (seconds < 0.001) {
    return Math.round(seconds * 1e6) + " µs";
  }
  if (seconds < 1) {
    return Math.round(seconds * 1000) + " ms";
  }
  if (seconds < 60) {
    return (seconds < 10 ? Math.round(seconds * 10) / 10 : Math.round(seconds)) + " s";
  }
  const steps = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const at = steps.findIndex(([size]) => seconds >= size);
  const whole = Math.floor(seconds / steps[at][0]);
  const rest = at + 1 < steps.length ? Math.floor((seconds % steps[at][0]) / steps[at + 1][0]) : 0;
  return whole + " " + steps[at][1] + (rest > 0 ? " " + rest + " " + steps[at + 1][1] : "");
}

// --- asking the daemon ----------------------------------------------------------

let credentials = ""; // of the sign-in form; kept by this page only

class Failure extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind; // "gone": try again; "locked": somebody has to sign in; "refused"
  }
}

/** The JSON answer.  A denial is an answer too, whatever its status is. */
async function ask(path, options) {
  const { headers, ...others } = options || {};
  const login = credentials ? { Authorization: credentials } : {};
  let response;
  let answer = null;
  try {
    response = await fetch(path, {
      cache: "no-store",
      headers: { Accept: "application/json", ...login, ...headers },
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...others,
    });
    const text = await response.text();
    answer = parse(text);
  } catch {
    throw new Failure("gone", "The daemon does not answer.");
  }
  if (answer !== null && (response.ok || typeof answer.allowed === "boolean")) {
    return answer;
  }
  const sentence = (answer && (answer.detail || answer.title)) || "status " + response.status;
  if (response.status === 401 || response.status === 403) {
    throw new Failure("locked", sentence);
  }
  if (response.ok) {
    throw new Failure("gone", "The answer is no JSON: is something between the daemon and this page?");
  }
  throw new Failure(response.status >= 500 ? "gone" : "refused", sentence);
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// --- the state of the page -------------------------------------------------------

const page = {
  last: null, // the last /v1/stats
  history: [], // {t, all, policies: Map(name -> rates)}, rates = {allowed, denied, would}
  latencies: [], // arrays of counts, for differences
  policies: [], // of /v1/policies
  top: { allowed: [], denied: [] },
  picked: "", // the policy that the chart shows
  cursor: -1, // index into history under the pointer
  retryMs: POLL_MS,
};

function setState(kind, text) {
  const state = byId("state");
  if (state.dataset.state !== kind || state.textContent !== text) {
    state.dataset.state = kind;
    state.textContent = text;
  }
  document.body.toggleAttribute("data-stale", kind === "gone");
  byId("main").hidden = kind === "locked";
}

function setNotice(text) {
  const notice = byId("notice");
  if (notice.textContent !== text) {
    notice.textContent = text;
    notice.hidden = text === "";
  }
}

// --- from totals to rates ----------------------------------------------------------

const OUTCOMES_ALLOWED = ["allowed", "would_deny", "failed_open"];
const OUTCOMES_DENIED = ["denied", "failed_closed"];

function sum(counts, names) {
  return names.reduce((total, name) => total + (counts[name] || 0), 0);
}

function difference(now, before, seconds) {
  const per = (names) => Math.max(0, sum(now, names) - sum(before || {}, names)) / seconds;
  return { allowed: per(OUTCOMES_ALLOWED), denied: per(OUTCOMES_DENIED), would: per(["would_deny"]) };
}

/** Policies and, when they were used, the limits that requests bring themselves. */
function rowsOf(stats) {
  const own = sum(stats.own, [...OUTCOMES_ALLOWED, ...OUTCOMES_DENIED]) > 0;
  return own ? [...stats.policies, { name: OWN_NAME, ...stats.own }] : stats.policies;
}

const OWN_NAME = "(own limits)";

function remember(stats) {
  const before = page.last;
  page.last = stats;
  if (!before || before.started_ms !== stats.started_ms || stats.now_ms <= before.now_ms) {
    if (before && before.started_ms !== stats.started_ms) {
      page.history = []; // another daemon: nothing to compare with
    }
    page.latencies = [stats.latency.counts];
    return;
  }
  const seconds = (stats.now_ms - before.now_ms) / 1000;
  const earlier = new Map(rowsOf(before).map((row) => [row.name, row]));
  const policies = new Map();
  for (const row of rowsOf(stats)) {
    const rates = difference(row, earlier.get(row.name), seconds);
    if (rates.allowed + rates.denied > 0) {
      policies.set(row.name, rates);
    }
  }
  page.history.push({ t: stats.now_ms, all: difference(stats.totals, before.totals, seconds), policies });
  const oldest = stats.now_ms - HISTORY * 1000;
  while (page.history.length > 0 && page.history[0].t < oldest) {
    page.history.shift();
  }
  page.latencies.push(stats.latency.counts);
  page.latencies.splice(0, page.latencies.length - LATENCY_OVER - 1);
}

/** The upper bound, in seconds, of the bucket that holds this share of the latest decisions. */
function latencyAt(share) {
  const upper = page.last.latency.upper_us;
  const newest = page.latencies[page.latencies.length - 1];
  const counts = newest.map((value, i) => value - page.latencies[0][i]);
  const total = counts.reduce((a, b) => a + b, 0);
  if (total <= 0) {
    return null;
  }
  let seen = 0;
  for (let i = 0; i < counts.length; i++) {
    seen += counts[i];
    if (seen >= share * total) {
      return i < upper.length ? upper[i] / 1e6 : Infinity;
    }
  }
  return Infinity;
}

// --- tiles and details ------------------------------------------------------------------

function setText(id, text) {
  const element = byId(id);
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

function storeSum(stats, field) {
  return stats.stores.reduce((total, store) => total + (store[field] || 0), 0);
}

function latencyText(seconds) {
  if (seconds === null) {
    return "–";
  }
  return seconds === Infinity ? "long" : "< " + duration(seconds);
}

function drawTiles() {
  const stats = page.last;
  const now = page.history.length > 0 ? page.history[page.history.length - 1].all : null;
  setText("tile-decisions", now ? rate(now.allowed + now.denied) : "–");
  setText("tile-denied", now ? percent(now.denied, now.allowed + now.denied) : "–");
  setText("tile-denied-note", now ? rate(now.denied) + " per second" : "of decisions");
  setText("tile-latency", latencyText(latencyAt(0.99)));
  const half = latencyAt(0.5);
  setText("tile-latency-note", half === null ? "99 of 100 are faster" : "for 99 %; half " + latencyText(half));
  setText("tile-connections", count(stats.connections.open));
  setText("tile-connections-note", count(stats.connections.opened) + " since the start");
  const known = stats.stores.some((store) => store.keys_live !== null);
  setText("tile-keys", known ? count(storeSum(stats, "keys_live")) : "–");
  const room = count(storeSum(stats, "keys_max"));
  setText("tile-keys-note", known ? "of " + room + ", " + duration(Math.round(stats.keys_live_age_ms / 1000)) + " ago"
    : "counting; room for " + room);
  setText("tile-memory", bytes(stats.process.rss_bytes));
  setText("tile-memory-note", "stores " + bytes(storeSum(stats, "memory_bytes") + storeSum(stats, "log_bytes")));
}

/** Term, text, and whether it is bad news. */
function details(stats) {
  const evicted = storeSum(stats, "keys_evicted");
  const denied = storeSum(stats, "full_denied");
  const untracked = storeSum(stats, "full_untracked");
  const failed = stats.totals.failed_open + stats.totals.failed_closed;
  return [
    ["Requests", count(stats.requests.resp) + " RESP, " + count(stats.requests.http) + " HTTP"],
    ["Received, sent", bytes(stats.bytes.received) + ", " + bytes(stats.bytes.sent)],
    ["Connections refused", count(stats.connections.refused), stats.connections.refused > 0],
    ["Protocol errors, timeouts", count(stats.errors.protocol) + ", " + count(stats.errors.timeouts)],
    ["Failed logins", count(stats.errors.logins_failed), stats.errors.logins_failed > 0],
    ["No decision could be made", count(failed), failed > 0],
    ["Live keys forgotten", count(evicted), evicted > 0],
    ["Denied or let through: table full", count(denied) + ", " + count(untracked), denied + untracked > 0],
    ["Decisions repeated (two at once)", count(storeSum(stats, "swap_retries"))],
    ["Reloads, failed ones", count(stats.reloads.done) + ", " + count(stats.reloads.failed), stats.reloads.failed > 0],
    ["Threads, file descriptors", stats.threads + ", " + count(stats.process.fds) + " of " + count(stats.process.fds_max)],
  ];
}

function drawDetail() {
  const list = byId("detail");
  details(page.last).forEach(([term, text, isBad], i) => {
    if (list.children.length <= 2 * i) {
      list.append(make("dt", {}, term), make("dd"));
    }
    const value = list.children[2 * i + 1];
    value.textContent = text;
    value.className = isBad ? "bad" : "";
  });
  setText("about", "version " + page.last.version + ", up " + duration(Math.floor(page.last.uptime_ms / 1000)) +
    (page.last.draining ? ", stopping" : ""));
}

// --- chart ---------------------------------------------------------------------------------

const NOTHING = { allowed: 0, denied: 0, would: 0 };

function ratesAt(sample) {
  return page.picked === "" ? sample.all : sample.policies.get(page.picked) || NOTHING;
}

/** Seconds that charts show. */
function spanOf(samples) {
  const seconds = samples.length > 0 ? (samples[samples.length - 1].t - samples[0].t) / 1000 : 0;
  return SPANS.find((span) => span >= seconds) || HISTORY;
}

/** 1, 2 or 5 times a power of ten, at least value. */
function niceAbove(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value * 0.999999);
}

/** Seconds without a sample (the page was hidden, the daemon gone) break the line. */
function runsOf(samples) {
  const runs = [];
  samples.forEach((sample, i) => {
    if (i === 0 || sample.t - samples[i - 1].t > 3.5 * POLL_MS) {
      runs.push([]);
    }
    runs[runs.length - 1].push(sample);
  });
  return runs;
}

/** Draws a line and the area below it; either may be absent. */
function trace(runs, x, y, value, line, area, bottom) {
  let lineData = "";
  let areaData = "";
  for (const run of runs) {
    const points = run.map((sample) => x(sample.t).toFixed(1) + " " + y(value(sample)).toFixed(1));
    lineData += "M" + points.join("L") + (points.length === 1 ? "h0.1" : "");
    areaData += "M" + x(run[0].t).toFixed(1) + " " + bottom + "L" + points.join("L") +
      "L" + x(run[run.length - 1].t).toFixed(1) + " " + bottom + "Z";
  }
  line.setAttribute("d", lineData);
  if (area) {
    area.setAttribute("d", areaData);
  }
}

const chart = {
  parts: null,
  left: 44,
  bottom: 20,

  build() {
    const svg = byId("chart-svg");
    const parts = { grid: makeSvg("g", { class: "grid" }), cursor: makeSvg("line", { class: "cursor" }) };
    for (const name of ["area-allowed", "area-denied", "line-allowed", "line-denied", "line-would"]) {
      parts[name] = makeSvg("path", { class: name });
    }
    svg.append(parts.grid, parts["area-allowed"], parts["area-denied"], parts["line-allowed"],
      parts["line-would"], parts["line-denied"], parts.cursor);
    parts.cursor.setAttribute("visibility", "hidden");
    this.parts = parts;
  },

  draw() {
    const box = byId("chart");
    const width = box.clientWidth;
    const height = box.clientHeight;
    const samples = page.history;
    byId("chart-empty").hidden = samples.length > 0;
    if (samples.length === 0 || width === 0) {
      return;
    }
    const peak = Math.max(...samples.map((sample) => Math.max(ratesAt(sample).allowed, ratesAt(sample).denied)));
    const top = niceAbove(Math.max(peak, 1));
    const end = samples[samples.length - 1].t;
    const floor = height - this.bottom;
    const span = spanOf(samples);
    const x = (t) => width - 2 - ((end - t) / (span * 1000)) * (width - this.left - 2);
    const y = (value) => floor - (value / top) * (floor - 8);
    this.x = x;
    const runs = runsOf(samples);
    trace(runs, x, y, (s) => ratesAt(s).allowed, this.parts["line-allowed"], this.parts["area-allowed"], floor);
    trace(runs, x, y, (s) => ratesAt(s).denied, this.parts["line-denied"], this.parts["area-denied"], floor);
    const would = samples.some((sample) => ratesAt(sample).would > 0);
    trace(would ? runs : [], x, y, (s) => ratesAt(s).would, this.parts["line-would"], null, floor);
    this.drawGrid(width, floor, top, x, y, end, span);
    this.drawCursor(width, floor);
    const now = ratesAt(samples[samples.length - 1]);
    setText("chart-now", "now " + rate(now.allowed) + " allowed, " + rate(now.denied) + " denied");
  },

  drawGrid(width, floor, top, x, y, end, span) {
    const key = [width, floor, top, span].join();
    if (this.gridKey === key) {
      return;
    }
    this.gridKey = key;
    const grid = this.parts.grid;
    grid.replaceChildren();
    const lines = String(top)[0] === "2" ? 4 : 5; // whole numbers at each, from 5 on
    for (let i = 0; i <= lines; i++) {
      const value = (top * i) / lines;
      const at = Math.round(y(value)) + 0.5;
      grid.append(makeSvg("line", { x1: this.left, x2: width, y1: at, y2: at }));
      const text = makeSvg("text", { x: this.left - 8, y: at + 4, "text-anchor": "end" });
      text.textContent = Number.isInteger(value) ? count(value) : value.toFixed(1);
      grid.append(text);
    }
    const step = (span / 60 < 2 ? 15 : span / 60 < 5 ? 30 : 60) * (width < 500 && span > 60 ? 2 : 1);
    for (let back = 0; back <= span; back += step) {
      const anchor = back === 0 ? "end" : back === span ? "start" : "middle";
      const text = makeSvg("text", { x: x(end - back * 1000), y: floor + 16, "text-anchor": anchor });
      text.textContent = back === 0 ? "now" : "−" + (back % 60 === 0 ? back / 60 + " min" : back + " s");
      grid.append(text);
    }
  },

  drawCursor(width, floor) {
    const tip = byId("chart-tip");
    const sample = page.history[page.cursor];
    tip.hidden = !sample;
    this.parts.cursor.setAttribute("visibility", sample ? "visible" : "hidden");
    if (!sample) {
      return;
    }
    const at = this.x(sample.t);
    for (const [name, value] of [["x1", at], ["x2", at], ["y1", 4], ["y2", floor]]) {
      this.parts.cursor.setAttribute(name, value);
    }
    const rates = ratesAt(sample);
    tip.textContent = new Date(sample.t).toLocaleTimeString() + "\n" + rate(rates.allowed) + " allowed/s\n" +
      rate(rates.denied) + " denied/s" + (rates.would > 0 ? "\n" + rate(rates.would) + " would be denied/s" : "");
    const isRight = at > width / 2;
    tip.style.left = isRight ? "" : at + 10 + "px";
    tip.style.right = isRight ? width - at + 10 + "px" : "";
  },

  /** Nearest sample to a place in the chart. */
  pointAt(clientX) {
    const left = byId("chart").getBoundingClientRect().left;
    let best = -1;
    let distance = Infinity;
    page.history.forEach((sample, i) => {
      const away = Math.abs(this.x(sample.t) - (clientX - left));
      if (away < distance) {
        best = i;
        distance = away;
      }
    });
    page.cursor = best;
    this.draw();
  },

  /** Arrow keys walk through the samples, and what is there is read out. */
  onKey(event) {
    const last = page.history.length - 1;
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -HISTORY, End: HISTORY };
    if (event.key === "Escape") {
      page.cursor = -1;
    } else if (event.key in steps && last >= 0) {
      const from = page.cursor < 0 ? last + (steps[event.key] < 0 ? 1 : 0) : page.cursor;
      page.cursor = Math.min(last, Math.max(0, from + steps[event.key]));
    } else {
      return;
    }
    event.preventDefault();
    this.draw();
    byId("chart").setAttribute("aria-label", byId("chart-tip").hidden ? "" : byId("chart-tip").textContent);
  },
};

// --- policies ----------------------------------------------------------------------------------

function setOptions(select, names, first) {
  const wanted = [...(first === null ? [] : [["", first]]), ...names.map((name) => [name, name])];
  if (select.dataset.names === JSON.stringify(wanted)) {
    return;
  }
  const value = select.value;
  select.replaceChildren(...wanted.map(([id, text]) => make("option", { value: id }, text)));
  select.dataset.names = JSON.stringify(wanted);
  if (wanted.some(([id]) => id === value)) {
    select.value = value;
  }
}

function limitList(policy) {
  const list = make("ul", { role: "list" });
  for (const limit of policy ? policy.limits : []) {
    const item = make("li", {});
    if (limit.name && policy.limits.length > 1) {
      item.append(make("span", { class: "name" }, limit.name + "  "));
    }
    item.append(limit.limit);
    list.append(item);
  }
  return list;
}

/** A policy's denials and allowances of the history, small. */
function spark(svg, name) {
  const width = 128;
  const height = 28;
  const samples = page.history;
  const of = (sample) => sample.policies.get(name) || NOTHING;
  const peak = Math.max(1e-9, ...samples.map((sample) => Math.max(of(sample).allowed, of(sample).denied)));
  const end = samples.length > 0 ? samples[samples.length - 1].t : 0;
  const span = spanOf(samples);
  const x = (t) => width - ((end - t) / (span * 1000)) * width;
  const y = (value) => height - 1 - (value / peak) * (height - 3);
  const runs = runsOf(samples);
  trace(runs, x, y, (s) => of(s).allowed, svg.children[1], svg.children[0], height - 1);
  trace(runs, x, y, (s) => of(s).denied + of(s).would, svg.children[2], null, height - 1);
}

function policyRow(name) {
  const button = make("button", { type: "button", title: "Show this policy in the chart" }, name);
  button.addEventListener("click", () => pick(name));
  const svg = makeSvg("svg", { class: "spark", viewBox: "0 0 128 28", preserveAspectRatio: "none", "aria-hidden": "true" });
  svg.append(makeSvg("path", { class: "area-allowed" }), makeSvg("path", { class: "line-allowed" }),
    makeSvg("path", { class: "line-denied" }));
  for (const path of svg.children) {
    path.setAttribute("vector-effect", "non-scaling-stroke");
  }
  const row = make("tr", { role: "row", "data-name": name }, make("th", { scope: "row", role: "rowheader" }, button),
    make("td", { class: "limits", role: "cell" }),
    make("td", { class: "number", role: "cell", "data-label": "allowed/s" }),
    make("td", { class: "number", role: "cell", "data-label": "denied/s" }),
    make("td", { class: "sparkline", role: "cell" }, svg),
    make("td", { class: "number total", role: "cell", "data-label": "denied in all" }));
  return row;
}

/** All, or the busiest of many, in the daemon's order. */
function busiest(rows) {
  if (rows.length <= POLICIES_SHOWN) {
    return rows;
  }
  const all = (row) => sum(row, [...OUTCOMES_ALLOWED, ...OUTCOMES_DENIED]);
  const chosen = new Set([...rows].sort((a, b) => all(b) - all(a)).slice(0, POLICIES_SHOWN));
  return rows.filter((row) => chosen.has(row));
}

function drawPolicies() {
  const body = byId("policies").tBodies[0];
  const rows = page.last ? rowsOf(page.last) : [];
  const known = new Map(page.policies.map((policy) => [policy.name, policy]));
  const current = rows.filter((row) => known.size === 0 || known.has(row.name) || row.name.startsWith("("));
  const shown = busiest(current);
  const names = shown.map((row) => row.name);
  if (body.dataset.names !== JSON.stringify(names)) {
    body.replaceChildren(...names.map(policyRow));
    body.dataset.names = JSON.stringify(names);
    if (names.length === 0) {
      body.append(make("tr", { role: "row" }, make("td", { colspan: "6", class: "empty", role: "cell" }, "No policies yet.")));
    }
  }
  setOptions(byId("chart-policy"), current.map((row) => row.name), "all");
  setText("policies-note", shown.length < current.length ? "the busiest " + shown.length + " of " + current.length : "");
  const latest = page.history[page.history.length - 1];
  shown.forEach((row, i) => drawPolicy(body.rows[i], row, known.get(row.name), latest));
}

function drawPolicy(row, counts, policy, latest) {
  const [head, limits, allowed, denied, line, total] = row.cells;
  const form = JSON.stringify(policy || null);
  if (row.dataset.form !== form) {
    row.dataset.form = form;
    limits.replaceChildren(policy ? limitList(policy) : counts.name === OWN_NAME ? "brought by each request" : "");
    head.querySelectorAll(".badge").forEach((badge) => badge.remove());
    if (policy && policy.dry_run) {
      head.append(make("span", { class: "badge", title: "Denials are counted, and nobody is denied" }, "dry run"));
    }
  }
  const rates = (latest && latest.policies.get(counts.name)) || NOTHING;
  const isDry = policy && policy.dry_run;
  allowed.textContent = rate(rates.allowed);
  denied.textContent = isDry ? "(" + rate(rates.would) + ")" : rate(rates.denied);
  denied.classList.toggle("is-denied", rates.denied > 0);
  const all = sum(counts, [...OUTCOMES_ALLOWED, ...OUTCOMES_DENIED]);
  const refused = isDry ? counts.would_deny : sum(counts, OUTCOMES_DENIED);
  total.textContent = count(refused) + (all > 0 ? " (" + percent(refused, all) + ")" : "");
  spark(line.firstChild, counts.name);
}

function pick(name) {
  page.picked = name;
  byId("chart-policy").value = name;
  chart.draw();
  if (name !== "" && name !== OWN_NAME) {
    byId("ask-policy").value = name;
  }
}

// --- keys ---------------------------------------------------------------------------------------

function keyRow() {
  const button = make("button", { type: "button" },
    make("span", { class: "name" }), make("span", { class: "count" }));
  button.addEventListener("click", () => lookAt(button.dataset));
  return make("li", {}, make("span", { class: "bar" }), button);
}

function drawKeys(list, keys, empty) {
  if (keys.length === 0) {
    if (!list.querySelector(".empty")) {
      list.replaceChildren(make("li", { class: "empty" }, empty));
    }
    return;
  }
  if (list.querySelector(".empty")) {
    list.replaceChildren();
  }
  while (list.children.length > keys.length) {
    list.lastChild.remove();
  }
  keys.forEach((key, i) => {
    if (list.children.length === i) {
      list.append(keyRow());
    }
    const [bar, button] = list.children[i].children;
    const isBase64 = key.key_base64 !== undefined; // it is not UTF-8
    const text = isBase64 ? key.key_base64 : key.key;
    bar.style.width = (100 * key.count) / keys[0].count + "%";
    button.dataset.policy = key.policy || "";
    button.dataset.key = text;
    button.dataset.base64 = isBase64 ? "yes" : "";
    button.disabled = key.is_cut || !key.policy;
    button.title = key.is_cut ? "Only the beginning of this key is known" : key.policy ? "Peek at this key" : "";
    button.firstChild.replaceChildren(text === "" ? "(empty)" : text + (key.is_cut ? "…" : ""),
      make("span", { class: "policy" }, "  " + (key.policy || OWN_NAME) + (isBase64 ? ", base64" : "")));
    button.lastChild.replaceChildren(count(key.count));
    if (key.error * 50 > key.count) {
      button.lastChild.append(make("span", { class: "error", title: "The count is at most " + plain.format(key.error) + " too high" }, " −" + count(key.error)));
    }
  });
}

function drawTop() {
  drawKeys(byId("top-denied"), page.top.denied.slice(0, TOP_SHOWN), "Nobody was denied.");
  drawKeys(byId("top-allowed"), page.top.allowed.slice(0, TOP_SHOWN), "Nobody came yet.");
}

// --- looking at a key -----------------------------------------------------------------------------

function lookAt(of) {
  byId("ask-policy").value = of.policy;
  byId("ask-key").value = of.key;
  byId("ask-base64").checked = of.base64 === "yes";
  peek();
  byId("ask-title").scrollIntoView({ block: "nearest" });
}

function question() {
  const key = byId("ask-key").value;
  return { policy: byId("ask-policy").value, ...(byId("ask-base64").checked ? { key_base64: key } : { key }) };
}

function say(...nodes) {
  byId("answer").replaceChildren(...nodes);
}

function level(part, whole) {
  const fill = make("span", {});
  fill.style.width = (whole > 0 ? (100 * part) / whole : 0) + "%";
  return make("span", { class: "level", "aria-hidden": "true" }, fill);
}

/** One limit of an answer: how full it is, and when it is full again. */
function limitLines(limit) {
  const reset = limit.reset_after_ms > 0 ? "full again in " + duration(limit.reset_after_ms / 1000) : "as if never seen";
  return [make("dt", {}, limit.name || "limit"),
    make("dd", {}, plain.format(limit.remaining) + " of " + plain.format(limit.limit) + " left",
      level(limit.remaining, limit.limit), make("span", { class: "note" }, reset))];
}

function verdict(answer) {
  const wait = answer.retry_after_ms;
  if (answer.failed) {
    return make("p", { class: "verdict no" }, "No decision can be made: the next request is " +
      (answer.allowed ? "let through." : "denied."));
  }
  if (answer.would_deny) {
    return make("p", { class: "verdict yes" }, "The next request passes, and would be denied without dry run.");
  }
  if (answer.allowed) {
    return make("p", { class: "verdict yes" }, "The next request passes.");
  }
  return make("p", { class: "verdict no" }, wait === null ? "The next request never passes: it costs too much." :
    "The next request is denied for " + duration(wait / 1000) + ".");
}

async function peek(done) {
  try {
    const answer = await ask("v1/peek?" + new URLSearchParams(question()));
    const list = make("dl", { class: "detail" });
    for (const limit of answer.limits || []) {
      list.append(...limitLines(limit));
    }
    say(...(done ? [make("p", {}, done)] : []), verdict(answer), list);
  } catch (failure) {
    say(make("p", { class: "failed" }, failure.message));
  }
}

/** Asks first: what the key has spent is forgotten, and cannot be brought back. */
function confirmReset() {
  const dialog = byId("confirm");
  byId("confirm-text").textContent = "Key “" + byId("ask-key").value + "” of policy " + byId("ask-policy").value +
    " gets its whole allowance back. This cannot be undone.";
  dialog.returnValue = "no";
  dialog.showModal();
}

async function reset() {
  try {
    await ask("v1/reset", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(question()),
    });
    await peek("The key was reset.");
  } catch (failure) {
    say(make("p", { class: "failed" }, failure.message));
  }
}

// --- what comes from the daemon -------------------------------------------------------------------

let topAt = 0;
let policiesAt = 0;
let reloadsSeen = -1;

async function pollPolicies(now) {
  if (now - policiesAt < POLICIES_MS && reloadsSeen === page.last.reloads.done) {
    return;
  }
  const answer = await ask("v1/policies");
  page.policies = answer.policies;
  policiesAt = now;
  reloadsSeen = page.last.reloads.done;
  setOptions(byId("ask-policy"), page.policies.map((policy) => policy.name), null);
}

async function pollTop(now) {
  if (now - topAt < TOP_MS) {
    return;
  }
  page.top = await ask("v1/top?count=" + TOP_SHOWN);
  topAt = now;
}

function drawAll() {
  drawTiles();
  drawDetail();
  drawPolicies();
  drawTop();
  chart.draw();
}

async function poll() {
  const now = performance.now();
  try {
    remember(await ask("v1/stats"));
    await Promise.all([pollPolicies(now), pollTop(now)]);
    setState("live", "Live");
    setNotice(page.last.draining ? "The daemon is stopping: it finishes what it has, and takes no new connections." : "");
    byId("signin").hidden = true;
    page.retryMs = POLL_MS;
    drawAll();
  } catch (failure) {
    if (!(failure instanceof Failure)) {
      throw failure;
    }
    onFailure(failure);
  }
}

function onFailure(failure) {
  page.retryMs = Math.min(RETRY_MS_MAX, page.retryMs * 1.6);
  if (failure.kind === "locked") {
    setState("locked", "Sign in");
    setNotice(failure.message);
    if (byId("signin").hidden) {
      byId("signin").hidden = false;
      byId("signin-user").focus();
    }
    page.retryMs = Infinity; // until somebody signs in
  } else {
    setState("gone", failure.kind === "gone" ? "Not reachable" : "Refused");
    setNotice(failure.message + (page.last ? " The figures are the last ones that came." : "") + " Trying again.");
  }
}

// --- the clock of the page ----------------------------------------------------------------------------

let timer = 0;

/** One round, then the next one; none while nobody looks. */
async function turn() {
  clearTimeout(timer);
  timer = -1;
  const began = performance.now();
  await poll();
  if (!document.hidden && page.retryMs !== Infinity) {
    timer = setTimeout(turn, Math.max(100, page.retryMs - (performance.now() - began)));
  } else {
    timer = 0;
  }
}

function onVisibility() {
  if (document.hidden) {
    clearTimeout(timer);
    timer = timer === -1 ? -1 : 0;
    setState("wait", "Paused");
  } else if (timer === 0 && page.retryMs !== Infinity) {
    turn();
  }
}

function onSignIn(event) {
  event.preventDefault();
  const text = new TextEncoder().encode(byId("signin-user").value + ":" + byId("signin-password").value);
  credentials = "Basic " + btoa(String.fromCharCode(...text));
  byId("signin-password").value = "";
  page.retryMs = POLL_MS;
  turn();
}

function start() {
  chart.build();
  byId("chart-policy").addEventListener("change", (event) => pick(event.target.value));
  byId("chart").addEventListener("pointermove", (event) => page.history.length > 0 && chart.pointAt(event.clientX));
  byId("chart").addEventListener("pointerleave", () => {
    page.cursor = -1;
    chart.draw();
  });
  byId("chart").addEventListener("keydown", (event) => chart.onKey(event));
  byId("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    peek();
  });
  byId("ask-reset").addEventListener("click", confirmReset);
  byId("confirm").addEventListener("close", () => byId("confirm").returnValue === "yes" && reset());
  byId("signin").addEventListener("submit", onSignIn);
  document.addEventListener("visibilitychange", onVisibility);
  new ResizeObserver(() => chart.draw()).observe(byId("chart"));
  turn();
}

start();
