// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/collective_report.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(CollectiveReport, HasRowsFamiliesAndWhatWasLeftOut) {
    CollectiveValidation v;
    v.rows = {{.of = {.collective = "all_reduce",
                      .gpu = "h200",
                      .num_gpus = 8,
                      .num_nodes = 1,
                      .fabric = "nvlink4",
                      .bytes = Bytes(1 << 20),
                      .measured_us = 40},
               .predicted_us = 30,
               .algorithm = "nvls",
               .protocol = "Simple"}};
    v.families = {{.name = "family x", .rows_large = 1, .median_large = 0.25, .max_large = 0.25}};
    v.all = v.families[0];
    v.skipped = {{"family y", "its network is 'unknown'"}};
    const std::string text = collective_report(v);
    for (const char* part : {"all_reduce h200 1x8 nvlink4",
                             "-25.0%  nvls Simple",
                             "family x",
                             "25.0%",
                             "its network is 'unknown'"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
}

}  // namespace
}  // namespace orrery
