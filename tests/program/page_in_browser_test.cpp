// SPDX-License-Identifier: Apache-2.0
// The pages of --html in a real browser, where one is installed (Debian's package
// chromium): it draws itself without an error, buttons and keys zoom and move the picture, and it
// asks nothing of a network.
#include <gtest/gtest.h>

#include <vector>

#include "tests/program/run_program.h"

namespace orrery {
namespace {

// Put after the page's own script: works the page as a person does and notes what happened.
constexpr const char* kVisitor = R"(<script>
const notes = [];
const note = (what, is) => notes.push(what + '=' + is);
addEventListener('error', (event) => note('error', event.message));
addEventListener('load', () => {
  const picture = window.orreryTimeline;
  const pixels = () => {
    const c = picture.canvas;
    const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
    const seen = new Set();
    for (let i = 0; i < d.length; i += 4)
      if (d[i + 3] > 200) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
    return seen.size;
  };
  note('ready', document.documentElement.dataset.ready);
  note('headings', document.querySelectorAll('h2').length);
  note('colours', pixels() > 3);
  const whole = picture.span;
  document.querySelector('button[aria-label="zoom in"]').click();
  note('zoomed', Math.round(whole / picture.span));
  const from = picture.from;
  picture.canvas.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }));
  note('moved', picture.from > from);
  picture.canvas.dispatchEvent(new KeyboardEvent('keydown', { key: '0' }));
  note('back', picture.span === whole);
  const box = picture.canvas.getBoundingClientRect();
  const bar = picture.lanes[0].bars[0];
  const x = (bar[1] + bar[2] / 2) / picture.end * picture.width();
  picture.canvas.dispatchEvent(new PointerEvent('pointermove',
    { clientX: box.left + picture.left + x, clientY: box.top + 6 }));
  note('tip', document.getElementById('tip').textContent.length > 10);
  note('requests', performance.getEntriesByType('resource').length);
  document.body.setAttribute('data-notes', notes.join(' '));
});
</script>)";

// The page with a script at its end.
void add_script(const std::string& page, const std::string& script) {
    std::string html = read_text(page);
    EXPECT_LT(html.size(), 5'000'000u);
    const std::size_t end = html.rfind("</body>");
    EXPECT_NE(end, std::string::npos);
    write_text(page, html.insert(end, script));
}

// What the scripts of a page noted in its body when the browser was done.
std::string notes_of(const std::string& page) {
    const Ran browser = run_shell(
        "chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run"
        " --disable-background-networking --disable-component-update --disable-sync"
        " --user-data-dir=profile --window-size=1200,900 --virtual-time-budget=4000"
        " --dump-dom file://" +
            page,
        std::filesystem::path{page}.parent_path());
    EXPECT_EQ(browser.status, 0) << browser.err;
    const std::size_t at = browser.out.find("data-notes=");
    EXPECT_NE(at, std::string::npos) << browser.out.substr(0, 2000);
    return at == std::string::npos ? "" : browser.out.substr(at, browser.out.find('>', at) - at);
}

std::string visited(const std::string& page, const std::string& visitor) {
    add_script(page, visitor);
    return notes_of(page);
}

bool has_browser() {
    return run_shell("command -v chromium", "/").status == 0;
}

TEST(PageInBrowser, DrawsItselfAndCanBeWorked) {
    if (!has_browser()) {
        GTEST_SKIP() << "no chromium here";
    }
    const TestFolder folder;
    const std::string page = (folder.path() / "page.html").string();
    const Ran made = run_orrery(
        "simulate scenarios/gpt3-175b-1024-a100.yaml --set network=analytic --html " + page);
    ASSERT_EQ(made.status, 0) << made.err;
    const std::string notes = visited(page, kVisitor);
    EXPECT_EQ(notes.find("error="), std::string::npos) << notes;
    for (const char* due : {"ready=true",
                            "headings=6",
                            "colours=true",
                            "zoomed=2",
                            "moved=true",
                            "back=true",
                            "tip=true",
                            "requests=0"}) {
        EXPECT_NE(notes.find(due), std::string::npos) << due << " in " << notes;
    }
}

// Notes what does not fit on a telephone, once all is drawn.
constexpr const char* kMeasurer = R"(<script>
addEventListener('load', () => setTimeout(() => {
  const all = (what) => [...document.querySelectorAll(what)];
  const least = (what) => Math.min(...all(what).map((n) => n.clientWidth));
  const legend = all('.legend').map((n) => n.textContent).join();
  parent.postMessage([
    'width=' + innerWidth,
    'fits=' + (document.documentElement.scrollWidth <= innerWidth),
    'bars=' + (least('.bars .track') > 300),
    'picture=' + (window.orreryTimeline.width() > 200),
    'legend=' + legend.includes('tensor-parallel communication') +
        legend.includes('context-parallel'),
  ].join(' '), '*');
}, 500));
</script>)";
constexpr const char* kTelephone = R"(<html><body><script>
addEventListener('message', (event) => document.body.setAttribute('data-notes', event.data));
</script><iframe src="page.html" width="420" height="900" style="border: 0"></iframe>
</body></html>)";

TEST(PageInBrowser, FitsOnATelephone) {
    if (!has_browser()) {
        GTEST_SKIP() << "no chromium here";
    }
    const TestFolder folder;
    const std::string page = (folder.path() / "page.html").string();
    const Ran made = run_orrery(
        "simulate scenarios/gpt3-175b-1024-a100.yaml --set network=analytic --html " + page);
    ASSERT_EQ(made.status, 0) << made.err;
    add_script(page, kMeasurer);
    write_text(folder.path() / "telephone.html", kTelephone);
    // The legend has what the picture has: communication of tensors, none of contexts.
    EXPECT_EQ(notes_of((folder.path() / "telephone.html").string()),
              "data-notes=\"width=420 fits=true bars=true picture=true legend=truefalse\"");
}

// Notes the widths of the pictures while the page is printed and afterwards.
constexpr const char* kPrinter = R"(<script>
addEventListener('load', () => setTimeout(() => {
  const widths = (when) => {
    const chart = document.querySelector('.uplot').offsetWidth;
    const picture = window.orreryTimeline.canvas.width / (devicePixelRatio || 1);
    const told = document.querySelector('.meanings').open;
    return when + '=' + chart + ',' + picture + ',' + told;
  };
  dispatchEvent(new Event('beforeprint'));
  setTimeout(() => {
    const notes = [widths('paper')];
    dispatchEvent(new Event('afterprint'));
    setTimeout(() => {
      notes.push('wide=' + (document.querySelector('.uplot').offsetWidth > 900));
      notes.push('closed=' + !document.querySelector('.meanings').open);
      document.body.setAttribute('data-notes', notes.join(' '));
    }, 50);
  }, 50);
}, 500));
</script>)";

TEST(PageInBrowser, PrintsItsPicturesInTheWidthOfThePaper) {
    if (!has_browser()) {
        GTEST_SKIP() << "no chromium here";
    }
    const TestFolder folder;
    const std::string page = (folder.path() / "page.html").string();
    const Ran made = run_orrery("simulate scenarios/laptop-2gpu.yaml --html " + page);
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(visited(page, kPrinter), "data-notes=\"paper=700,698,true wide=true closed=true\"");
}

// Puts down how much the page of a study shows, once all is drawn or 3 s of the browser's time have
// passed.
constexpr const char* kReader = R"(<script>
const notes = [];
let looks = 0;
addEventListener('error', (event) => notes.push('error=' + event.message));
const look = () => {
  const drawn = (c) => {
    const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
    for (let i = 3; i < d.length; i += 4) if (d[i]) return true;
    return false;
  };
  const canvases = [...document.querySelectorAll('canvas')];
  const empty = canvases.filter((c) => c.width && c.height && !drawn(c)).length;
  const due = document.querySelectorAll('.chart').length;
  if ((empty || document.querySelectorAll('.uplot').length < due) && ++looks < 300)
    return void setTimeout(look, 10);
  notes.push('ready=' + document.documentElement.dataset.ready);
  notes.push('charts=' + document.querySelectorAll('.uplot').length);
  notes.push('heat=' + document.querySelectorAll('canvas.heat').length);
  notes.push('lanes=' + document.querySelectorAll('#timeline').length);
  notes.push('empty=' + empty);
  notes.push('rows=' + (document.querySelectorAll('tbody tr').length > 1));
  notes.push('requests=' + performance.getEntriesByType('resource').length);
  document.body.setAttribute('data-notes', notes.join(' '));
};
addEventListener('load', () => setTimeout(look, 10));
</script>)";

struct Page {
    std::string command;
    std::vector<std::string> shows;
};

TEST(PageInBrowser, EveryStudyDrawsItsCharts) {
    if (!has_browser()) {
        GTEST_SKIP() << "no chromium here";
    }
    const TestFolder folder;
    const std::string results = (folder.path() / "results.sqlite").string();
    for (const Page& page :
         {Page{"network scenarios/network-clos-64.yaml --size 1MiB..64MiB",
               {"charts=1", "heat=1", "rows=true"}},
          Page{"campaign scenarios/recovery-plans.yaml --set 'campaign.step_time=\"9 s\"' "
               "--set campaign.seeds=4",
               {"charts=2", "lanes=1", "rows=true"}},
          Page{"simulate scenarios/llama3-70b-h100.yaml --set "
               "'faults=[{kind: slow_gpu, at: \"node:3/gpu:1\", factor: 1.1}]'",
               {"rows=true"}},
          Page{"search scenarios/laptop-2gpu.yaml --set search.simulations=20",
               {"charts=1", "rows=true"}},
          Page{"sweep scenarios/sweep-70b-plans.yaml -r " + results, {"charts=", "rows=true"}}}) {
        const std::string file = (folder.path() / "page.html").string();
        const Ran made = run_orrery(page.command + " --html " + file);
        ASSERT_EQ(made.status, 0) << page.command << made.err;
        const std::string notes = visited(file, kReader);
        EXPECT_EQ(notes.find("error="), std::string::npos) << page.command << notes;
        for (const char* due : {"ready=true", "empty=0", "requests=0"}) {
            EXPECT_NE(notes.find(due), std::string::npos) << page.command << ": " << notes;
        }
        for (const std::string& due : page.shows) {
            EXPECT_NE(notes.find(due), std::string::npos) << page.command << ": " << notes;
        }
    }
}

}  // namespace
}  // namespace orrery
