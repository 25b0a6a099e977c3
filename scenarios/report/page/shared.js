"use strict";
// What every page draws with: numbers as text, tables, curves (uPlot), heat maps, and the picture of
// lanes over time. No network: the data is the JSON in #data.
// Words of a terminal are set as a page sets them; a line may end behind a '-', in the middle of an arrow.
const data = JSON.parse(document.getElementById("data").textContent.replaceAll(" -> ", " → "));
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
  // 999.9 ms are written as 1.00 s: three digits decide the unit.
  const a = Math.abs(s) * 1.0005;
  const digits = (x) => Math.abs(x) >= 999.5 ? thousands(x) : x.toPrecision(3);
  if (a === 0) return "0 s";
  if (a >= 1) return digits(s) + " s";
  if (a >= 1e-3) return digits(s * 1e3) + " ms";
  return digits(s * 1e6) + " us";
}
function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 1024 && i < 4) { n /= 1024; ++i; }
  return (!i ? n : n >= 999.5 ? Math.round(n) : n.toPrecision(3)) + " " + units[i];
}
const words = (key) => key.replaceAll("_", " ");
// What a colour of the picture of ranks stands for, where its name alone does not say so.
const meanings = { forward: "forward kernels", backward: "backward kernels", recomputation: "kernels that run again",
  optimizer: "optimizer", tensor: "tensor-parallel communication", context: "context-parallel communication",
  data: "data-parallel communication", pipeline: "sends between stages",
  other: "other work" };
const meaningOf = (kind) => meanings[kind] || words(kind);
// Round times in [from, to], at most `most`: 1, 2 or 5 of a power of ten of seconds, hours or days. In seconds.
function roundTicks(from, to, most) {
  const unit = to >= 86400 ? 86400 : to >= 3600 ? 3600 : 1;
  const least = (to - from) / unit / most, power = 10 ** Math.floor(Math.log10(least));
  const step = unit * power * [1, 2, 5, 10].find((n) => n * power >= least * (1 - 1e-9));
  const ticks = [];
  for (let k = Math.ceil(from / step - 1e-9); k * step <= to * (1 + 1e-9); ++k) ticks.push(k * step);
  return ticks;
}
const thousands = (n) => Math.round(n).toLocaleString("en-US");

const palette = ["--forward", "--tensor", "--backward", "--recomputation", "--data", "--pipeline", "--optimizer", "--other",
  "--navy", "--rust", "--forest", "--sky", "--rose", "--olive", "--peach", "--plum"];
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colourOf = (kind, i) => colour("--" + kind) || colour(palette[i % palette.length]);
// Drawing changes sizes: not while the browser is still telling them.
const drawings = [];  // drawn once when the page is complete, then whenever their sizes change
const onResize = (node, act) => {
  drawings.push(act);
  new ResizeObserver(() => requestAnimationFrame(act)).observe(node);
};
// A printed page has the width of paper and light colours: pictures are drawn again for it.
for (const [event, printing] of [["beforeprint", true], ["afterprint", false]])
  addEventListener(event, () => {
    document.documentElement.classList.toggle("printing", printing);
    drawings.forEach((draw) => draw(true));
    // On paper a click opens nothing.
    document.querySelectorAll("details.meanings").forEach((part) => {
      if (printing) part.dataset.open = part.open;
      part.open = printing || part.dataset.open === "true";
    });
  });
const onDarkChange = (act) => matchMedia("(prefers-color-scheme: dark)").addEventListener("change", act);

function legendOf(names, colours) {
  const legend = element("div", { class: "legend" });
  names.forEach((name, i) => {
    const mark = element("i");
    mark.style.background = colours[i];
    legend.append(element("span", {}, mark, name));
  });
  return legend;
}

function tableOf(table) {
  const right = (i) => table.right ? table.right[i] : i >= table.left;
  const cell = (tag, text, i) => element(tag, right(i) ? { class: "number" } : {}, text);
  // On a narrow screen the table scrolls. Neither is a column of sentences squeezed to a word a line,
  // nor does a name break behind its hyphens.
  const wide = table.head.map((word, i) => {
    const longest = right(i) ? 0 : table.rows.reduce((most, row) => Math.max(most, row[i].length), 0);
    return Math.min(longest, 36, Math.max(18, longest / 3));
  });
  return element("div", { class: "wide" }, element("table", {},
    element("thead", {}, element("tr", {}, ...table.head.map((word, i) => {
      const head = cell("th", word, i);
      if (wide[i] > 4) head.style.minWidth = wide[i] + "ch";
      return head;
    }))),
    element("tbody", {}, ...table.rows.map((row) => element("tr", {}, ...row.map((text, i) => cell("td", text, i)))))));
}

// Values as an axis writes them, by their unit.
const formats = {
  "": (v) => (+v.toPrecision(4)).toLocaleString("en-US", { maximumFractionDigits: 10 }), s: seconds, bytes, share: (v) => percent(v),
  days: (v) => +v.toPrecision(3) + " d", "GB/s": (v) => +v.toPrecision(3) + " GB/s",
};

// Marks of an axis; those of a share have as many digits as their distance.
function marksOf(unit, list) {
  const known = list.filter((v) => v !== null);
  const step = known.length < 2 ? 1 : 100 * Math.abs(known[1] - known[0]);
  let digits = 0;
  while (digits < 3 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits++;
  return list.map((v) => v === null ? "" : unit === "share" ? percent(v, digits) : formats[unit](v));
}

// What the read-out of a series says at a place: its own value where the curve is a sum (series.own), and what the point is.
function readOut(series, unit, value, place) {
  const own = series.own && place !== null ? series.own[place] : value;
  if (own === null || own === undefined || value === null) return "–";
  return formats[unit](own) + (series.labels && place !== null ? ", " + series.labels[place] : "");
}

// Colours of the kinds of memory; others follow.
const kindColours = { weights: "--forward", gradients: "--tensor", optimizer: "--recomputation", activations: "--backward",
  communication: "--data", workspace: "--other" };
const restColours = ["--navy", "--olive", "--rose", "--sky", "--plum", "--rust", "--forest", "--peach", "--pipeline",
  "--optimizer", "--context"];
const stackColour = (name, i) => kindColours[name] || restColours[i % restColours.length];

// Each series on top of the ones before it, the last one drawn first. The read-out tells each one's own values.
function stackedSeries(series) {
  const sums = series[0].values.map(() => 0);
  return series.map((s, i) => ({ ...s, values: s.values.map((v, k) => (sums[k] += v)), own: s.values, area: true,
    colour: stackColour(s.name, i) })).reverse();
}

// A line across a chart: {name, value}.
const limitSeries = (limit, xs) => ({ name: limit.name, values: xs.map(() => limit.value), colour: "--ink", dash: [6, 4] });

// A chart of {x, y: {title, unit}, log, stacked, xs, series: [{name, values, points}], limit: {name, value}}.
function chartOf(given) {
  const chart = given.stacked ? { ...given, series: stackedSeries(given.series) } : { ...given };
  if (given.limit) chart.series = [...chart.series, limitSeries(given.limit, given.xs)];
  const holder = element("div", { class: "chart", role: "img", tabindex: "0", "aria-label": `${chart.y.title} over ${chart.x.title}` });
  let plot = null;
  const make = () => {
    if (plot) plot.destroy();
    const axis = (of, more) => ({ label: of.title, stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ...more,
      ticks: { stroke: colour("--line"), width: 1 }, values: (u, list) => marksOf(of.unit, list) });
    // Bytes are counted in powers of two; few places that lines join are the places to mark.
    const steps = (of) => of.unit === "bytes" ? Array.from({ length: 51 }, (_, i) => 2 ** i) : undefined;
    const places = [...new Set(chart.xs)];
    const points = chart.series.some((s) => s.points);
    const marked = places.length <= 12 && !chart.log && !points && !chart.series.some((s) => s.area);
    const horizontal = { size: 34, labelSize: 24, space: (u, axis, least, most, width) => width < 400 ? 58 : 84, splits: marked ? () => places : undefined,
      incrs: steps(chart.x) };
    const series = chart.series.map((s, i) => {
      const stroke = colour(s.colour || palette[i % palette.length]);
      return { label: s.name, stroke, width: s.points ? 0 : 2, dash: s.dash, fill: s.area ? stroke : undefined, paths: s.points ? () => null : undefined,
        points: { show: s.points ? true : undefined, size: 8, fill: stroke }, value: (u, v, n, place) => place === null ? "" : readOut(s, chart.y.unit, v, place) };
    });
    plot = new uPlot({
      width: Math.max(320, holder.clientWidth), height: 320, legend: { live: true },
      scales: { x: { time: false, distr: chart.log ? 3 : 1, log: chart.x.unit === "bytes" ? 2 : 10,
          // Points at the ends are drawn whole.
          range: points && !chart.log ? (u, low, high) => { const room = (high - low || high || 1) * 0.03; return [low - room, high + room]; } : undefined },
        y: chart.series.some((s) => s.area) ? { range: (u, low, high) => [0, (high || 1) * 1.05] } : {} },
      axes: [axis(chart.x, horizontal), axis(chart.y, { size: 78, labelSize: 26, incrs: steps(chart.y) })],
      series: [{ label: chart.x.title, value: (u, v) => v === null || v === undefined ? "" : formats[chart.x.unit](v) }, ...series],
    }, [chart.xs, ...chart.series.map((s) => s.values)], holder);
    holder.plot = plot;
  };
  onResize(holder, (anew) => {
    if (!plot || anew === true) make();
    else if (Math.abs(plot.width - holder.clientWidth) > 1 && holder.clientWidth) plot.setSize({ width: holder.clientWidth, height: 320 });
  });
  onDarkChange(make);
  const hint = "Point at the chart to read values below it; click a name to hide or show its curve.";
  return element("div", {}, holder, element("p", { class: "hint" }, hint));
}

// What a heat map says of a cell: the cell's label, or its name with the share that it shows.
function readCell(heat, row, cell) {
  if (row.labels && row.labels[cell]) return row.labels[cell];
  const name = row.cells ? row.cells[cell] : "cell " + cell;
  return `${words(row.name)}: ${name}` + (heat.scale ? "" : `, ${percent(row.values[cell])}`);
}

// The hottest cell of each row in words: paper and narrow screens have no cursor that reads cells.
function hottestOf(heat) {
  const rows = heat.rows.filter((row) => row.values.length).map((row) => [row, row.values.indexOf(Math.max(...row.values))]);
  const most = rows.sort(([a, i], [b, k]) => b.values[k] - a.values[i]).slice(0, 8);
  return element("ul", { class: "hottest" }, ...most.map(([row, cell]) => element("li", {}, readCell(heat, row, cell))));
}

// Rows of cells from pale (0) to red (1): {rows: [{name, values, labels, cells}], scale: what 0 and 1 stand for}.
function heatOf(heat) {
  const canvas = element("canvas", { class: "heat", role: "img", "aria-label": "heat map", tabindex: "0" });
  const row = 26;
  const chosen = { line: 0, cell: -1 };  // by the arrow keys
  let left = 170;  // of the cells, behind the names of the rows
  const at = (value) => `hsl(${Math.round(36 - 36 * Math.min(1, value))} 85% 50% / ${(0.06 + 0.94 * Math.min(1, value)).toFixed(3)})`;
  const draw = () => {
    const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = heat.rows.length * row;
    canvas.style.height = height + "px";
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    left = Math.min(170, 16 + Math.max(...heat.rows.map((line) => pen.measureText(words(line.name)).width)));
    heat.rows.forEach((line, i) => {
      pen.fillStyle = colour("--soft");
      pen.fillText(words(line.name), 4, i * row + row / 2, left - 10);
      const cells = line.values.length, size = (width - left) / cells, shown = Math.min(cells, Math.floor(width - left));
      for (let k = 0; k < shown; ++k) {
          // More cells than pixels: the hottest cell of each pixel.
          const first = Math.floor((k * cells) / shown),
                last = Math.max(first + 1, Math.floor(((k + 1) * cells) / shown));
          let value = 0;
          for (let c = first; c < last; ++c) value = Math.max(value, line.values[c]);
          pen.fillStyle = at(value);
          const wide = (width - left) / shown;
          pen.fillRect(
              left + k * wide, i * row + 2, Math.max(0.5, wide - (size > 4 ? 1 : 0)), row - 4);
      }
    });
  };
  const read = (line, cell, x, y) => {
    tip.hidden = !(line && cell >= 0 && cell < line.values.length);
    if (tip.hidden) return;
    tip.textContent = readCell(heat, line, cell);
    tip.style.left = Math.max(0, Math.min(x + 14, innerWidth - 280)) + "px";
    tip.style.top = y + 14 + "px";
  };
  const point = (event) => {
    const box = canvas.getBoundingClientRect();
    const line = heat.rows[Math.floor((event.clientY - box.top) / row)];
    read(line, line && Math.floor(((event.clientX - box.left - left) / (box.width - left)) * line.values.length), event.clientX, event.clientY);
  };
  canvas.addEventListener("pointermove", point);
  canvas.addEventListener("pointerdown", point);
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step) return;
    event.preventDefault();
    chosen.line = Math.max(0, Math.min(heat.rows.length - 1, chosen.line + step[0]));
    const line = heat.rows[chosen.line], box = canvas.getBoundingClientRect();
    chosen.cell = Math.max(0, Math.min(line.values.length - 1, chosen.cell + step[1]));
    read(line, chosen.cell, box.left + left + ((chosen.cell + 0.5) * (box.width - left)) / line.values.length, box.top + (chosen.line + 0.5) * row);
  });
  canvas.addEventListener("blur", () => { tip.hidden = true; });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  onResize(canvas, draw);
  onDarkChange(draw);
  const bar = element('i');
  bar.style.background = `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map(at).join(', ')})`;
  return element('div', {}, canvas, element('p', {class: 'heat-scale'}, heat.scale ? heat.scale[0] : '0 %', bar, heat.scale ? heat.scale[1] : '100 %'), hottestOf(heat));
}

// The rank x time picture: one lane a stream of a rank, drawn on a canvas between `from` and `to`.
class Timeline {
  // {kinds, names, lanes}; a unit of time is `scale` seconds.
  constructor(timeline, scale = 1e-9) {
    const lanes = timeline.lanes;
    this.timeline = timeline;
    this.scale = scale;
    this.lanes = lanes;
    this.end = Math.max(...lanes.map((lane) => { const b = lane.bars.at(-1); return b ? b[1] + b[2] : 0; }), 1);
    this.from = 0;
    this.to = this.end;
    this.place();
    this.row = 18;
    this.canvas = element("canvas", { id: "timeline", tabindex: "0", role: "img",
      "aria-label": "timeline of ranks; arrow keys move, plus and minus zoom, zero shows all" });
    this.listen();
    onResize(this.canvas, () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }
  // Where names of streams and bars begin. Names of ranks stand before, where there are any.
  place() {
    this.narrow = this.canvas ? this.canvas.clientWidth < 560 : false;
    this.column = this.timeline.lanes.some((lane) => lane.rank) ? (this.narrow ? 64 : 84) : 6;
    this.left = this.narrow ? 156 : 184;
  }
  text(time) {
    const s = time * this.scale;
    return s >= 86400 ? (s / 86400).toPrecision(3) + " days" : s >= 3600 ? (s / 3600).toPrecision(3) + " h" : seconds(s);
  }
  get span() { return this.to - this.from; }
  width() { return this.canvas.clientWidth - this.left; }
  time(x) { return this.from + ((x - this.left) / this.width()) * this.span; }
  show(from, to) {
    const span = Math.min(Math.max(to - from, this.end / 1e6), this.end);
    this.from = Math.min(Math.max(0, from), this.end - span);
    this.to = this.from + span;
    tip.hidden = true;  // what it is about has moved
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
    this.place();
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    const colours = this.timeline.kinds.map(colourOf);
    const scale = this.width() / this.span;
    pen.font = `${this.narrow ? 11 : 12}px system-ui, sans-serif`;
    pen.textBaseline = "middle";
    this.lanes.forEach((lane, i) => {
      const y = i * this.row + 2;
      pen.fillStyle = style.getPropertyValue("--soft");
      pen.fillText(lane.first ? lane.rank : "", 6, y + 8, this.column - 12);
      pen.fillText(lane.stream, this.column, y + 8, this.left - this.column - 6);
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
          pen.fillText(this.timeline.names[bar[3]], x + 4, y + 8, end - x - 8);
        }
      }
      if (lane.first && i) {
        pen.fillStyle = style.getPropertyValue("--line");
        pen.fillRect(0, y - 2, this.canvas.clientWidth, 1);
      }
    });
    const axis = this.lanes.length * this.row + 12;
    pen.fillStyle = style.getPropertyValue("--soft");
    const most = Math.max(2, Math.min(6, Math.floor(this.width() / 70)));
    pen.textAlign = "center";
    let taken = 0;  // by the label before
    for (const tick of roundTicks(this.from * this.scale, this.to * this.scale, most)) {
      const x = this.left + (tick / this.scale - this.from) * scale;
      const half = pen.measureText(this.text(tick / this.scale)).width / 2;
      pen.fillRect(x, axis - 10, 1, 3);
      const middle = Math.min(Math.max(x, this.left + half), this.left + this.width() - half);
      if (middle - half < taken) continue;
      pen.fillText(this.text(tick / this.scale), middle, axis);
      taken = middle + half + 6;
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
    tip.textContent = `${this.timeline.names[bar[3]]}${bar[4] >= 0 ? ", micro-batch " + bar[4] : ""}\n` +
      `${meaningOf(this.timeline.kinds[bar[0]])}: ${this.text(bar[2])} from ${this.text(bar[1])} on`;
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

// The picture with its buttons and legend.
function timelineOf(timeline, scale) {
  const picture = new Timeline(timeline, scale);
  const button = (text, label, act) => {
    const node = element("button", { type: "button", "aria-label": label }, text);
    node.addEventListener("click", act);
    return node;
  };
  const tools = element("div", { class: "tools" }, button("+", "zoom in", () => picture.zoom(0.5)),
    button("−", "zoom out", () => picture.zoom(2)), button("all", "show everything", () => picture.show(0, picture.end)),
    element("span", { class: "soft" }, "drag to move; wheel zooms once the picture is clicked; arrow keys, + and − too"));
  window.orreryTimeline = picture;  // for those who want to script it
  const drawn = timeline.kinds.map((kind, i) => [meaningOf(kind), colourOf(kind, i), i])
    .filter(([, , i]) => timeline.lanes.some((lane) => lane.bars.some((bar) => bar[0] === i)));
  return [tools, legendOf(drawn.map((d) => d[0]), drawn.map((d) => d[1])), picture.canvas];
}
