"use strict";
// Draws the page from the JSON in #data. No library, no network: what the numbers mean is told by
// the keys of `orrery simulate --json`; the timeline is [kind, begin ns, length ns, name, micro-batch].
const data = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
const tip = document.getElementById("tip");

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") node.className = value;
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}
const percent = (share, digits = 1) => (share * 100).toFixed(digits) + " %";
function seconds(s) {
  const a = Math.abs(s);
  if (a === 0) return "0 s";
  if (a >= 1) return s.toPrecision(3) + " s";
  if (a >= 1e-3) return (s * 1e3).toPrecision(3) + " ms";
  return (s * 1e6).toPrecision(3) + " us";
}
function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 1024 && i < 4) { n /= 1024; ++i; }
  return (i ? n.toPrecision(3) : n) + " " + units[i];
}
const words = (key) => key.replaceAll("_", " ");
const thousands = (n) => Math.round(n).toLocaleString("en-US");

function heading() {
  page.append(element("h1", {}, data.scenario),
    element("p", {}, `${data.model} on ${thousands(data.ranks)} GPUs: ${data.cluster}`),
    element("p", {}, `${data.plan}; ${thousands(data.global_batch_size)} sequences a step in ` +
      `${thousands(data.micro_batches)} micro-batches`));
  const cards = element("div", { class: "cards" });
  const card = (value, what, bad) =>
    cards.append(element("div", { class: bad ? "card bad" : "card" }, element("b", {}, value), element("span", {}, what)));
  card(seconds(data.iteration_s), `iteration time, ± ${percent(data.uncertainty)}`);
  card(percent(data.mfu), "MFU (full attention)");
  card(percent(data.hfu), "HFU (full attention)");
  card(thousands(data.tokens_per_s), "tokens a second");
  card(bytes(data.peak_memory_bytes), data.fits ? "peak memory of a GPU" : "peak memory: does not fit", !data.fits);
  page.append(cards);
}

function waterfall() {
  page.append(element("h2", {}, "Where the peak goes"));
  const bars = element("div", { class: "bars", role: "table", "aria-label": "MFU waterfall" });
  const row = (what, share, begin, end, kind) => {
    const bar = element("i", { class: kind });
    bar.style.left = Math.min(begin, end) * 100 + "%";
    bar.style.width = Math.abs(end - begin) * 100 + "%";
    bars.append(element("span", {}, what), element("span", { class: "number" }, percent(share)),
      element("span", { class: "number soft" }, seconds(share * data.iteration_s)),
      element("div", { class: "track" }, bar));
  };
  row("device peak", 1, 0, 1, "");
  let left = 1;
  for (const [cause, share] of Object.entries(data.lost_mfu)) {
    row(words(cause), share, left - share, left, share < 0 ? "gain" : "lost");
    left -= share;
  }
  row("MFU", data.mfu, 0, data.mfu, "");
  page.append(bars);
}

const memoryColours = ["--forward", "--tensor", "--recomputation", "--backward", "--data", "--other"];
function memory() {
  page.append(element("h2", {}, "Memory of the fullest GPU"));
  const stack = element("div", { class: "stack", role: "img", "aria-label": "memory by kind" });
  const legend = element("div", { class: "legend" });
  const whole = Math.max(data.device_memory_bytes || 0, data.peak_memory_bytes);
  Object.entries(data.memory).forEach(([kind, n], i) => {
    if (!n) return;
    const part = element("i", { title: `${kind} ${bytes(n)}` });
    part.style.width = (n / whole) * 100 + "%";
    part.style.background = `var(${memoryColours[i % memoryColours.length]})`;
    stack.append(part);
    const mark = element("i");
    mark.style.background = part.style.background;
    legend.append(element("span", {}, mark, `${kind} ${bytes(n)}`));
  });
  page.append(stack, legend);
  if (data.device_memory_bytes)
    page.append(element("p", {}, `${bytes(data.peak_memory_bytes)} of ${bytes(data.device_memory_bytes)}`));
}

function links() {
  if (!Object.keys(data.network).length) return;
  page.append(element("h2", {}, "Use of the links"));
  const bars = element("div", { class: "bars" });
  for (const [name, use] of Object.entries(data.network)) {
    const bar = element("i");
    bar.style.width = use.max * 100 + "%";
    bars.append(element("span", {}, words(name)),
      element("span", { class: "number", title: "mean over the links" }, percent(use.mean)),
      element("span", { class: "number", title: "busiest link" }, percent(use.max)),
      element("div", { class: "track" }, bar));
  }
  page.append(bars, element("p", {}, "Mean over the links of a class, and its busiest link, over the step."));
}

function collectives() {
  if (!data.collectives.length) return;
  page.append(element("h2", {}, "Collectives of a step"));
  const body = element("tbody");
  for (const c of data.collectives)
    body.append(element("tr", {}, element("td", {}, words(c.name)), element("td", { class: "number" }, thousands(c.ranks)),
      element("td", { class: "number" }, bytes(c.bytes)), element("td", {}, c.algorithm), element("td", {}, c.protocol),
      element("td", { class: "number" }, String(c.channels)), element("td", { class: "number" }, thousands(c.count))));
  const head = ["collective", "ranks", "bytes", "algorithm", "protocol", "channels", "count"].map((word, i) =>
    element("th", [1, 2, 5, 6].includes(i) ? { class: "number" } : {}, word));
  page.append(element("table", {}, element("thead", {}, element("tr", {}, ...head)), body));
}

// The rank x time picture: one lane a stream of a rank, drawn on a canvas between `from` and `to`.
class Timeline {
  constructor(lanes) {
    this.lanes = lanes;
    this.end = Math.max(...lanes.map((lane) => { const b = lane.bars.at(-1); return b ? b[1] + b[2] : 0; }), 1);
    this.from = 0;
    this.to = this.end;
    this.left = 160;
    this.row = 18;
    this.canvas = element("canvas", { id: "timeline", tabindex: "0", role: "img",
      "aria-label": "timeline of ranks; arrow keys move, plus and minus zoom, zero shows all" });
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }
  get span() { return this.to - this.from; }
  width() { return this.canvas.clientWidth - this.left; }
  time(x) { return this.from + ((x - this.left) / this.width()) * this.span; }
  show(from, to) {
    const span = Math.min(Math.max(to - from, this.end / 1e6), this.end);
    this.from = Math.min(Math.max(0, from), this.end - span);
    this.to = this.from + span;
    if (!this.waiting) {
      this.waiting = true;
      requestAnimationFrame(() => { this.waiting = false; this.draw(); });
    }
  }
  zoom(factor, at = (this.from + this.to) / 2) {
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }
  // The first bar that ends after a time.
  first(bars, time) {
    let low = 0, high = bars.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (bars[middle][1] + bars[middle][2] <= time) low = middle + 1; else high = middle;
    }
    return low;
  }
  draw() {
    const ratio = devicePixelRatio || 1;
    const height = this.lanes.length * this.row + 24;
    this.canvas.style.height = height + "px";
    this.canvas.width = Math.round(this.canvas.clientWidth * ratio);
    this.canvas.height = Math.round(height * ratio);
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    const colours = data.timeline.kinds.map((kind) => style.getPropertyValue("--" + kind));
    const scale = this.width() / this.span;
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    this.lanes.forEach((lane, i) => {
      const y = i * this.row + 2;
      pen.fillStyle = style.getPropertyValue("--soft");
      pen.fillText(lane.first ? lane.rank : "", 6, y + 8, 72);
      pen.fillText(lane.stream, 84, y + 8, this.left - 90);
      let drawn = -1;  // the last pixel: what is thinner than one is drawn once
      for (let k = this.first(lane.bars, this.from); k < lane.bars.length; ++k) {
        const bar = lane.bars[k];
        if (bar[1] >= this.to) break;
        const x = Math.max(this.left, this.left + (bar[1] - this.from) * scale);
        const end = Math.min(this.left + this.width(), this.left + (bar[1] + bar[2] - this.from) * scale);
        if (end <= drawn) continue;
        pen.fillStyle = colours[bar[0]];
        pen.fillRect(x, y, Math.max(0.6, end - x - (end - x > 4 ? 0.6 : 0)), this.row - 4);
        drawn = x + 0.5;
        if (end - x > 46) {
          pen.fillStyle = "#fff";
          pen.fillText(data.timeline.names[bar[3]], x + 4, y + 8, end - x - 8);
        }
      }
      if (lane.first && i) {
        pen.fillStyle = style.getPropertyValue("--line");
        pen.fillRect(0, y - 2, this.canvas.clientWidth, 1);
      }
    });
    const axis = this.lanes.length * this.row + 12;
    pen.fillStyle = style.getPropertyValue("--soft");
    for (let i = 0; i <= 5; ++i) {
      const time = this.from + (this.span * i) / 5;
      pen.textAlign = i === 5 ? "right" : i ? "center" : "left";
      pen.fillText(seconds(time * 1e-9), this.left + (this.width() * i) / 5, axis);
    }
    pen.textAlign = "left";
  }
  hover(event) {
    const box = this.canvas.getBoundingClientRect();
    const lane = this.lanes[Math.floor((event.clientY - box.top) / this.row)];
    const time = this.time(event.clientX - box.left);
    const bar = lane && lane.bars[this.first(lane.bars, time)];
    tip.hidden = !(bar && bar[1] <= time && event.clientX - box.left >= this.left);
    if (tip.hidden) return;
    tip.textContent = `${data.timeline.names[bar[3]]}${bar[4] >= 0 ? ", micro-batch " + bar[4] : ""}\n` +
      `${words(data.timeline.kinds[bar[0]])}: ${seconds(bar[2] * 1e-9)} from ${seconds(bar[1] * 1e-9)} on`;
    tip.style.left = Math.min(event.clientX + 14, innerWidth - 280) + "px";
    tip.style.top = event.clientY + 14 + "px";
  }
  listen() {
    const canvas = this.canvas;
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey && document.activeElement !== canvas) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.time(event.clientX - canvas.getBoundingClientRect().left));
    }, { passive: false });
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, from: this.from, to: this.to };
      canvas.setPointerCapture(event.pointerId);
      canvas.focus({ preventScroll: true });
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag) {
        const shift = ((drag.x - event.clientX) / this.width()) * this.span;
        this.show(drag.from + shift, drag.to + shift);
      } else this.hover(event);
    });
    canvas.addEventListener("pointerup", () => { drag = null; });
    canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
    canvas.addEventListener("dblclick", (event) =>
      this.zoom(0.4, this.time(event.clientX - canvas.getBoundingClientRect().left)));
    canvas.addEventListener("keydown", (event) => {
      const step = this.span / 8;
      const keys = {
        ArrowLeft: () => this.show(this.from - step, this.to - step),
        ArrowRight: () => this.show(this.from + step, this.to + step),
        "+": () => this.zoom(0.7), "=": () => this.zoom(0.7), "-": () => this.zoom(1.4),
        0: () => this.show(0, this.end),
      };
      if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
    });
  }
}

function timeline() {
  if (!data.timeline.lanes.length) return;
  page.append(element("h2", {}, "Ranks over time"));
  const picture = new Timeline(data.timeline.lanes);
  const button = (text, label, act) => {
    const node = element("button", { type: "button", "aria-label": label }, text);
    node.addEventListener("click", act);
    return node;
  };
  page.append(element("div", { class: "tools" }, button("+", "zoom in", () => picture.zoom(0.5)),
    button("−", "zoom out", () => picture.zoom(2)), button("all", "show the whole step", () => picture.show(0, picture.end)),
    element("span", { class: "soft" }, "drag to move; wheel zooms once the picture is clicked; arrow keys, + and − too")));
  const legend = element("div", { class: "legend" });
  for (const kind of data.timeline.kinds) {
    const mark = element("i");
    mark.style.background = `var(--${kind})`;
    legend.append(element("span", {}, mark, words(kind)));
  }
  page.append(legend, picture.canvas,
    element("p", {}, "One rank of each role, and the slowest rank, in the last simulated step. White space is waiting."));
  picture.draw();
  window.orreryTimeline = picture;  // for those who want to script it
}

heading();
waterfall();
timeline();
memory();
links();
collectives();
page.append(element("footer", {}, `Orrery ${data.version}, ${data.network_model} network, seed ${data.seed}. ` +
  `Kernel time: ${percent(data.cost_sources.measured, 0)} measured, ${percent(data.cost_sources.interpolated, 0)} interpolated, ` +
  `${percent(data.cost_sources.roofline, 0)} roofline. ${thousands(data.simulated_ops)} ops simulated.`));
document.documentElement.dataset.ready = "true";
