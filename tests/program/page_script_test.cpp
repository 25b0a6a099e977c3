// SPDX-License-Identifier: Apache-2.0
// Functions of the page's script on their own, where node is installed (Debian's package nodejs).
#include <gtest/gtest.h>

#include "tests/program/run_program.h"

namespace orrery {
namespace {

// The functions of the page that the script below names, without the page around them.
constexpr const char* kTake = R"(
const fs = require("fs");
const folder = process.argv[2] + "/scenarios/report/page/";
const read = (name) => fs.readFileSync(folder + name, "utf8");
const text = read("shared.js");
const take = (start, end) => {
  const from = text.indexOf(start);
  return text.slice(from, text.indexOf(end, from) + end.length);
};
const taken = ["seconds", "bytes", "marksOf", "readOut", "readCell", "stackedSeries"].map(
  (name) => take(`function ${name}(`, "\n}\n"));
const code = [take("const percent", ";\n"), take("const words", ";\n"),
  take("const formats", "};\n"), take("const kindColours", "};\n"),
  take("const restColours", ";\n"), take("const stackColour", ";\n"), ...taken].join("");
const { marksOf, readOut, readCell, stackedSeries } =
  new Function(code + "return { marksOf, readOut, readCell, stackedSeries };")();
)";

TEST(PageScript, TheMemoryChartStacksTheKindsAndReadsOutEachKindsOwnBytes) {
    if (run_shell("command -v node", "/").status != 0) {
        GTEST_SKIP() << "no node here";
    }
    const TestFolder folder;
    write_text(folder.path() / "script.js", std::string{kTake} + R"(
const GiB = 2 ** 30;
const series = stackedSeries([{ name: "weights", values: [1 * GiB, 1 * GiB] },
  { name: "gradients", values: [2 * GiB, 2 * GiB] }, { name: "workspace", values: [0, 4 * GiB] }]);
for (const s of series)
  console.log(s.name, s.values.map((v) => v / GiB).join(), readOut(s, "bytes", s.values[1], 1));
console.log(readOut(series[0], "bytes", null, null), readOut({}, "s", 1.5, 0));
)");
    const Ran ran = run_shell("node script.js " ORRERY_SOURCE_DIR, folder.path());
    ASSERT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.out,
              "workspace 3,7 4.00 GiB\n"
              "gradients 3,3 2.00 GiB\n"
              "weights 1,1 1.00 GiB\n"
              "– 1.50 s\n");
}

TEST(PageScript, ACellOfAHeatMapIsNamed) {
    if (run_shell("command -v node", "/").status != 0) {
        GTEST_SKIP() << "no node here";
    }
    const TestFolder folder;
    write_text(folder.path() / "script.js", std::string{kTake} + R"(
const row = { name: "host_memory", values: [0.25, 1] };
console.log(readCell({}, { ...row, cells: ["a -> b", "b -> a"] }, 0));
console.log(readCell({ scale: ["low", "high"] }, { ...row, labels: ["first", "second"] }, 1));
console.log(readCell({}, row, 1));
)");
    const Ran ran = run_shell("node script.js " ORRERY_SOURCE_DIR, folder.path());
    ASSERT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.out, "host memory: a -> b, 25.0 %\nsecond\nhost memory: cell 1, 100.0 %\n");
}

TEST(PageScript, MarksOfAnAxisOfSharesDiffer) {
    if (run_shell("command -v node", "/").status != 0) {
        GTEST_SKIP() << "no node here";
    }
    const TestFolder folder;
    write_text(folder.path() / "script.js", std::string{kTake} + R"(
console.log(marksOf("share", [0, 0.2, 0.4]).join(), marksOf("share", [0.942, 0.943, 0.944]).join(),
  marksOf("share", [0.9475, 0.95]).join(), marksOf("s", [1, 2]).join());
)");
    const Ran ran = run_shell("node script.js " ORRERY_SOURCE_DIR, folder.path());
    ASSERT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.out, "0 %,20 %,40 % 94.2 %,94.3 %,94.4 % 94.75 %,95.00 % 1.00 s,2.00 s\n");
}

}  // namespace
}  // namespace orrery
