"use strict";
// The page of everything but a single step: {title, lines, cards, sections, footer}, drawn in that order.
function drawSection(section) {
  page.append(element("h2", {}, section.title));
  if (section.chart) page.append(chartOf(section.chart));
  if (section.heat) page.append(heatOf(section.heat));
  if (section.bars) {
    const bars = element("div", { class: "bars" });
    for (const bar of section.bars) {
      const track = element("i", bar.share < (bar.begin || 0) ? { class: "gain" } : {});
      track.style.left = Math.max(0, Math.min(bar.begin || 0, bar.share)) * 100 + "%";
      track.style.width = Math.min(1, Math.abs(bar.share - (bar.begin || 0))) * 100 + "%";
      bars.append(element("span", {}, bar.name), element("span", { class: "number" }, bar.text),
        element("span", { class: "number soft" }, bar.more), element("div", { class: "track" }, track));
    }
    page.append(bars);
  }
  if (section.timeline) page.append(...timelineOf(section.timeline, section.timeline.scale));
  if (section.table) page.append(tableOf(section.table));
  page.append(...(section.after || []).map((line) => element("p", {}, line)));
  if (section.note) page.append(element("p", {}, section.note));
}

page.append(element("h1", {}, data.title), ...data.lines.map((line) => element("p", {}, line)));
const cards = element("div", { class: "cards" });
for (const card of data.cards)
  cards.append(element("div", { class: card.bad ? "card bad" : "card" }, element("b", {}, card.value), element("span", {}, card.what)));
page.append(cards);
data.sections.forEach(drawSection);
page.append(element("footer", {}, data.footer));
drawings.forEach((draw) => draw());
document.documentElement.dataset.ready = "true";
