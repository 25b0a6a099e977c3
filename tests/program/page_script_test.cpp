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
const text = fs.readFileSync(folder + "shared.js", "utf8") + fs.readFileSync(folder + "page.js", "utf8");
const take = (start, end) => text.slice(text.indexOf(start), text.indexOf(end, text.indexOf(start)) + end.length);
const code = [take("const percent", ";\n"), take("function seconds(", "\n}\n"), take("function bytes(", "\n}\n"),
  take("const formats", "};\n"), take("function readOut(", "\n}\n"), take("const memoryColours", ";\n"),
  take("function stackedMemory(", "\n}\n")].join("");
const { readOut, stackedMemory } = new Function(code + "return { readOut, stackedMemory };")();
)";

TEST(PageScript, TheMemoryChartStacksTheKindsAndReadsOutEachKindsOwnBytes) {
    if (run_shell("command -v node", "/").status != 0) {
        GTEST_SKIP() << "no node here";
    }
    const TemporaryFolder folder;
    write_file(folder.path() / "script.js", std::string{kTake} + R"(
const GiB = 2 ** 30;
const series = stackedMemory({ xs: [0, 1], kinds: ["weights", "gradients", "workspace"],
  values: [[1 * GiB, 2 * GiB, 0], [1 * GiB, 2 * GiB, 4 * GiB]] });
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

}  // namespace
}  // namespace orrery
