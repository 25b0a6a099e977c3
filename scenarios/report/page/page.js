"use strict";
// The page of a report: {title, facts, lines, cards, sections, footer}, drawn in that order.
function factsOf(facts) {
  return element("dl", { class: "facts" }, ...facts.flatMap((fact) =>
    [element("dt", {}, fact.name), element("dd", {}, fact.value)]));
}

function barsOf(bars) {
  const drawn = element("div", { class: "bars" });
  for (const bar of bars) {
    const gain = bar.share < bar.begin;
    const track = element("i", gain ? { class: "gain" } : bar.begin > 0 ? { class: "lost" } : {});
    track.style.left = Math.max(0, Math.min(bar.begin, bar.share)) * 100 + "%";
    track.style.width = Math.min(1, Math.abs(bar.share - bar.begin)) * 100 + "%";
    drawn.append(element("span", bar.help ? { title: bar.help } : {}, bar.name), element("span", { class: "number" }, bar.text),
      element("span", { class: "number soft" }, bar.more),
      element("div", { class: "track" }, ...(bar.share === bar.begin ? [] : [track])));
  }
  return drawn;
}

// The bars as parts of one, and where 1 is if they are more.
function stackOf(bars) {
  const stack = element("div", { class: "stack", role: "img", "aria-label": bars.map((bar) => `${bar.name} ${bar.text}`).join(", ") });
  const whole = Math.max(1, bars.reduce((sum, bar) => sum + bar.share, 0));
  const colours = bars.map((bar, i) => `var(${stackColour(bar.name, i)})`);
  bars.forEach((bar, i) => {
    const part = element("i", { title: `${bar.name} ${bar.text}` });
    part.style.width = (bar.share / whole) * 100 + "%";
    part.style.background = colours[i];
    stack.append(part);
  });
  if (whole > 1) {
    const limit = element("b", { title: "here the GPU's memory ends" });
    limit.style.left = 100 / whole + "%";
    stack.append(limit);
  }
  return [stack, legendOf(bars.map((bar) => `${bar.name} ${bar.text}`), colours)];
}

function meaningsOf(bars) {
  const told = bars.filter((bar) => bar.help);
  return told.length ? [element("details", { class: "meanings" }, element("summary", {}, "What the lines mean"),
    element("ul", {}, ...told.map((bar) => element("li", {}, `${bar.name.replace(/^[-+] /, "")}: ${bar.help}`))))] : [];
}

function drawSection(section) {
  page.append(element("h2", {}, section.title));
  if (section.facts.length) page.append(factsOf(section.facts));
  if (section.chart) page.append(chartOf(section.chart));
  if (section.heat) page.append(heatOf(section.heat));
  if (section.bars) page.append(...(section.stacked ? stackOf(section.bars) : [barsOf(section.bars)]), ...meaningsOf(section.bars));
  if (section.timeline)
    page.append(element("div", { class: "picture" }, ...timelineOf(section.timeline, section.timeline.scale)));
  if (section.table) page.append(tableOf(section.table));
  page.append(...(section.after || []).map((line) => element("p", {}, line)));
  if (section.note) page.append(element("p", {}, section.note));
}

page.append(element("h1", {}, data.title));
if (data.facts.length) page.append(factsOf(data.facts));
page.append(...data.lines.map((line) => element("p", {}, line)));
const cards = element("div", { class: "cards" });
for (const card of data.cards)
  cards.append(element("div", { class: card.bad ? "card bad" : "card" }, element("b", {}, card.value), element("span", {}, card.what)));
page.append(cards);
data.sections.forEach(drawSection);
page.append(element("footer", {}, data.footer));
drawings.forEach((draw) => draw());
document.documentElement.dataset.ready = "true";
