// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/report/validation_report.h"
#include "tests/scenarios/golden_report.h"

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
    expect_golden("collectives", to_text(collective_sections(v)));
}

}  // namespace
}  // namespace orrery
