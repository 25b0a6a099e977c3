// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/catalogue_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/scenarios/golden_report.h"

namespace orrery {
namespace {

const CatalogueEntry kEntry{.section = "devices",
                            .name = "gpu",
                            .about = "A part.",
                            .figures = {{"peak_fp16", "312 TFLOPS", "datasheet"}}};

TEST(CatalogueReport, ShowsFiguresAndSources) {
    expect_golden("catalogue", to_text(catalogue_sections({kEntry})));
    expect_golden("catalogue_entry", to_markdown(entry_sections({kEntry})));
    EXPECT_EQ(
        catalogue_page(kEntry),
        "gpu  (devices)\n\n  A part.\n\n  peak_fp16  312 TFLOPS\n                 datasheet\n");
    EXPECT_TRUE(catalogue_sections({}).sections.empty());
    CatalogueEntry without = kEntry;
    without.figures.push_back({"peak_fp8", "0 TFLOPS", "no such kernels"});
    EXPECT_EQ(to_text(catalogue_sections({without})), to_text(catalogue_sections({kEntry})));
}

TEST(CatalogueReport, JsonHasValueAndSource) {
    const auto json = nlohmann::json::parse(catalogue_json({kEntry}));
    EXPECT_EQ(json["devices"]["gpu"]["figures"]["peak_fp16"]["source"], "datasheet");
    EXPECT_EQ(json["devices"]["gpu"]["about"], "A part.");
}

}  // namespace
}  // namespace orrery
