// SPDX-License-Identifier: Apache-2.0
// The page of `orrery simulate --html` in a real browser, where one is installed (Debian's package
// chromium): it draws itself without an error, buttons and keys zoom and move the picture, and it
// asks nothing of a network.
#include <gtest/gtest.h>

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

TEST(PageInBrowser, DrawsItselfAndCanBeWorked) {
    if (run_shell("command -v chromium", "/").status != 0) {
        GTEST_SKIP() << "no chromium here";
    }
    const TemporaryFolder folder;
    const std::string page = (folder.path() / "page.html").string();
    const Ran made = run_orrery(
        "simulate scenarios/gpt3-175b-1024-a100.yaml --set network=analytic --html " + page);
    ASSERT_EQ(made.status, 0) << made.err;
    std::string html = read_file(page);
    EXPECT_LT(html.size(), 5'000'000u);
    const std::size_t end = html.rfind("</body>");
    ASSERT_NE(end, std::string::npos);
    write_file(page, html.insert(end, kVisitor));
    const Ran browser = run_shell(
        "chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run"
        " --disable-background-networking --disable-component-update --disable-sync"
        " --user-data-dir=profile --window-size=1200,900 --virtual-time-budget=4000"
        " --dump-dom file://" +
            page,
        folder.path());
    ASSERT_EQ(browser.status, 0) << browser.err;
    const std::size_t at = browser.out.find("data-notes=");
    ASSERT_NE(at, std::string::npos) << browser.out.substr(0, 2000);
    const std::string notes = browser.out.substr(at, browser.out.find('>', at) - at);
    EXPECT_EQ(notes.find("error="), std::string::npos) << notes;
    for (const char* due : {"ready=true",
                            "headings=5",
                            "colours=true",
                            "zoomed=2",
                            "moved=true",
                            "back=true",
                            "tip=true",
                            "requests=0"}) {
        EXPECT_NE(notes.find(due), std::string::npos) << due << " in " << notes;
    }
}

}  // namespace
}  // namespace orrery
