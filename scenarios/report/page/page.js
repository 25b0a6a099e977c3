"use strict";
// The page of one simulated step. What the numbers mean is told by the keys of `orrery simulate --json`;
// the timeline is [kind, begin ns, length ns, name, micro-batch].
function heading() {
  page.append(element("h1", {}, data.scenario),
    element("p", {}, `${data.model || "a model"} on ${thousands(data.ranks)} GPUs: ${data.cluster}`),
    element("p", {}, `${data.plan}; ${thousands(data.global_batch_size)} sequences of ` +
      `${thousands(data.seq_length)} tokens a step in ` +
      `${thousands(data.micro_batches)} micro-batches`));
  const cards = element("div", { class: "cards" });
  const card = (value, what, bad) =>
    cards.append(element("div", { class: bad ? "card bad" : "card" }, element("b", {}, value), element("span", {}, what)));
  const wider = data.unseen === "nothing" ? "" : ` (the factors were fitted on no step of this ${data.unseen})`;
  card(seconds(data.iteration_s), `iteration time, ± ${percent(data.uncertainty)} (standard deviation)${wider}`);
  card(percent(data.mfu), "MFU (full attention)");
  card(percent(data.hfu), "HFU (full attention)");
  card(thousands(data.tokens_per_s), "tokens a second");
  card(bytes(neededMemory()), data.fits ? "memory of the fullest GPU" : "memory of the fullest GPU: does not fit",
    !data.fits);
  page.append(cards, ...data.remarks.map((remark) => element("p", {}, remark)));
  if (data.unseen !== "nothing") {
    const at = (sigmas) => seconds(data.iteration_s * Math.exp(data.uncertainty_shift + sigmas * data.uncertainty));
    page.append(element("p", {}, `90 % of such steps take ${at(-1.645)} to ${at(1.645)}, half of them more than ${at(0)}.`));
  }
  const assumed = Object.entries(data.assumed || {});
  if (assumed.length)
    page.append(element("p", {}, "Assumed, as the scenario does not say: " +
      assumed.map(([key, value]) => `${key} ${value}`).join(", ") + "."));
}

// What was wrong with the cluster in this step, what it cost, and who waited for whom.
function faults() {
  if (!data.faults) return;
  page.append(element("h2", {}, "Faults in the step"),
    element("ul", {}, ...data.faults.map((fault) => element("li", {}, fault))));
  if (data.hang) {
      page.append(
          element(
              'p',
              {},
              `The step never ends: the collective timeout stops the job after ` +
                  `${
                      seconds(
                          data.hang
                              .timeout_s)}. All else on this page is of the step without the loss.`),
          tableOf({
              left: 2,
              head: ['operation', 'group', 'since', 'ranks that wait', 'never arrived'],
              rows: data.hang.groups.map(
                  (g) =>
                      [g.operation,
                       g.group,
                       seconds(g.since_s),
                       thousands(g.waiting.length),
                       g.missing.length ? g.missing.join(', ') : 'none'])
          }));
      return;
  }
  const slower = data.iteration_s / data.healthy_iteration_s - 1;
  page.append(element("p", {}, `Without them the step takes ${seconds(data.healthy_iteration_s)}; ` +
    `they make it ${percent(slower, 2)} longer.`));
  if (!data.rank_waits.length) return;
  const causes = [...new Set(data.rank_waits.flatMap((w) => Object.keys(w.waits_s)))];
  page.append(tableOf({
      left: 2,
      head: ['waiting rank', '', 'kernels', ...causes.map((c) => data.cause_words[c])],
      rows: data.rank_waits.map(
          (w) =>
              [`rank ${w.rank}`,
               w.relation,
               seconds(w.kernels_s),
               ...causes.map((c) => seconds(w.waits_s[c] || 0))])
  }));
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
    row(data.cause_words[cause], share, left - share, left, share < 0 ? "gain" : "lost");
    left -= share;
  }
  row("MFU", data.mfu, 0, data.mfu, "");
  const meanings = { ...data.cause_meanings, counted_not_executed: "FLOPs that the MFU counts and kernels skip: a gain" };
  const list = element("ul", {}, ...Object.keys(data.lost_mfu).filter((cause) => meanings[cause]).map((cause) =>
    element("li", {}, `${data.cause_words[cause]}: ${meanings[cause]}`)));
  page.append(bars, element("details", { class: "meanings" }, element("summary", {}, "What the lines mean"), list));
}

const memoryColours = ["--forward", "--tensor", "--recomputation", "--backward", "--data", "--other"];
// What takes memory beside the plan: driver, CUDA context, NCCL.
const overheads = Object.entries(data.memory_overheads || {});
const neededMemory = () => data.peak_memory_bytes + overheads.reduce((sum, [, n]) => sum + n, 0);
const overheadColours = ["--navy", "--olive", "--rose", "--sky"];

function memory() {
  page.append(element("h2", {}, "Memory of the fullest GPU"));
  const stack = element("div", { class: "stack", role: "img", "aria-label": "memory by kind" });
  const legend = element("div", { class: "legend" });
  const needed = neededMemory();
  const whole = Math.max(data.device_memory_bytes || 0, needed);
  const show = (kind, n, tint) => {
    if (!n) return;
    const part = element("i", { title: `${kind} ${bytes(n)}` });
    part.style.width = (n / whole) * 100 + "%";
    part.style.background = `var(${tint})`;
    stack.append(part);
    const mark = element("i");
    mark.style.background = part.style.background;
    legend.append(element("span", {}, mark, `${kind} ${bytes(n)}`));
  };
  Object.entries(data.memory).forEach(([kind, n], i) => show(kind, n, memoryColours[i % memoryColours.length]));
  overheads.forEach(([kind, n], i) => show(kind, n, overheadColours[i % overheadColours.length]));
  page.append(stack, legend);
  if (!data.device_memory_bytes) return;
  const fits = needed <= data.device_memory_bytes;
  if (!fits) {
    const limit = element("b", { title: `the device has ${bytes(data.device_memory_bytes)}` });
    limit.style.left = (data.device_memory_bytes / whole) * 100 + "%";
    stack.append(limit);
  }
  const beside = overheads.length ? ` The plan's peak is ${bytes(data.peak_memory_bytes)}; the process takes the rest.` : "";
  page.append(element("p", {}, `${bytes(needed)} of the device's ${bytes(data.device_memory_bytes)}` +
    (fits ? "." : " (the line in the bar): does not fit.") + beside));
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
  if (data.heat && data.heat.rows.length) page.append(heatOf(data.heat));
  page.append(bars, element("p", {}, "First figure: the mean over the links of a class in the step. Second figure and bar: " +
    "the busiest link. In the row above a cell is a link. Where links outnumber pixels, a cell is the busiest of its neighbours."));
}

function movedBy(use) {
  return use.moved_by === "sm" ? `${use.sms} ${use.sms === 1 ? "SM" : "SMs"}` : words(use.moved_by);
}

function collectives() {
  if (!data.collectives.length) return;
  page.append(element("h2", {}, "Collectives of a step"));
  const body = element("tbody");
  for (const c of data.collectives)
      body.append(element(
          'tr',
          {},
          element('td', {}, words(c.name)),
          element('td', {class: 'number'}, thousands(c.ranks)),
          element('td', {class: 'number'}, bytes(c.bytes)),
          element('td', {}, c.algorithm),
          element('td', {}, c.protocol),
          element('td', {}, movedBy(c)),
          element('td', {class: 'number'}, thousands(c.count)),
          element('td', {class: 'number'}, seconds(c.alone_s)),
          element('td', {class: 'number'}, seconds(c.alone_s * c.count))));
  const head = [
      'collective',
      'ranks',
      'bytes',
      'algorithm',
      'protocol',
      'moved by',
      'count',
      'each alone',
      'all'
  ].map((word, i) => element('th', [1, 2, 6, 7, 8].includes(i) ? {class: 'number'} : {}, word));
  page.append(element("div", { class: "wide" },
    element("table", {}, element("thead", {}, element("tr", {}, ...head)), body)));
}

function timeline() {
  if (!data.timeline.lanes.length) return;
  page.append(element("h2", {}, "Ranks over time"), ...timelineOf(data.timeline),
    element("p", {}, "One rank of each role, and the slowest rank, in the last simulated step. Empty space is waiting. Zoom in to tell operations apart."));
}

// Stacked: each kind on top of the ones before it. The read-out tells each kind's own bytes.
function stackedMemory(memory) {
  const sums = memory.xs.map(() => 0);
  return memory.kinds.map((name, k) => ({ name, values: memory.values.map((at, i) => (sums[i] += at[k])),
    own: memory.values.map((at) => at[k]), area: true, colour: memoryColours[k % memoryColours.length] })).reverse();
}

function memoryOverTime() {
  const memory = data.memory_over_time;
  if (!memory || memory.xs.length < 2) return;
  page.append(element("h2", {}, `Memory over time: ${memory.role}`),
    chartOf({ x: { title: "time in the step", unit: "s" }, y: { title: "bytes, one kind on the other", unit: "bytes" },
      xs: memory.xs, series: stackedMemory(memory) }));
}

heading();
faults();
waterfall();
timeline();
memory();
memoryOverTime();
links();
collectives();
page.append(element("footer", {}, `Orrery ${data.version}, ${data.network_model} network, seed ${data.seed}. ` +
  `Kernel time: ${percent(data.cost_sources.measured, 0)} measured, ${percent(data.cost_sources.interpolated, 0)} interpolated, ` +
  `${percent(data.cost_sources.roofline, 0)} roofline. ${thousands(data.simulated_ops)} ops simulated.`));
drawings.forEach((draw) => draw());
document.documentElement.dataset.ready = "true";
