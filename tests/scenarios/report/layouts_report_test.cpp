// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/layouts_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace orrery {
namespace {

StageLayouts stage() {
    return {.role = "pp 0",
            .mesh = "tp 2, dp 4",
            .rows = {{.phase = "always",
                      .kind = TensorKind::weights,
                      .tensors = {"layers.*.fc1", "layers.*.fc2"},
                      .placement = "tp/columns",
                      .step_placement = "tp/columns dp/elements",
                      .tier = "HBM",
                      .codec = Dtype::bf16,
                      .lifetime = Lifetime::persistent,
                      .bytes = Bytes{2 << 20},
                      .transfers = {{.name = "parameter gather",
                                     .kind = "all_gather",
                                     .over = "dp",
                                     .wire = Dtype::bf16,
                                     .bytes = Bytes{8 << 20},
                                     .times = 3}}},
                     {.phase = "forward",
                      .kind = TensorKind::activations,
                      .tensors = {"norm 1"},
                      .placement = "dp/batch",
                      .step_placement = {},
                      .tier = "HBM",
                      .codec = Dtype::fp32,
                      .lifetime = Lifetime::micro_batch,
                      .bytes = Bytes{1024},
                      .transfers = {}}}};
}

TEST(LayoutsReport, IsATableWithTensorsAndTransfersBelow) {
    EXPECT_EQ(layouts_report({stage()}),
              R"(One rank of pp 0   (mesh: tp 2, dp 4)
  phase    kind         placement                                 tier  codec  lifetime         size
  always   weights      tp/columns, steps tp/columns dp/elements  HBM   bf16   persistent   2.00 MiB
      layers.*.fc1, layers.*.fc2
      -> parameter gather: all_gather over dp, 8.00 MiB in 3 a step, bf16
  forward  activations  dp/batch                                  HBM   fp32   micro_batch  1.00 KiB
      norm 1
)");
}

TEST(LayoutsReport, IsJsonToo) {
    const auto json = nlohmann::json::parse(layouts_json({stage()}));
    const auto& rows = json.at("stages").at(0).at("layouts");
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].at("step_placement"), "tp/columns dp/elements");
    EXPECT_EQ(rows[0].at("transfers").at(0).at("times"), 3);
    EXPECT_EQ(rows[1].at("step_placement"), "dp/batch");
    EXPECT_EQ(rows[1].at("bytes"), 1024);
}

}  // namespace
}  // namespace orrery
