// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/catalogue/catalogue_entry.h"

#include <gtest/gtest.h>

#include "scenarios/format/catalogue/catalogue.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(CatalogueEntry, CommentsAreSourcesOfWhatTheyStandBy) {
    const CatalogueEntry entry = parse_catalogue_entry("devices",
                                                       "gpu",
                                                       "# A part.\n# Two lines.\n\nname: gpu\n"
                                                       "peak: 312 TFLOPS  # datasheet\n"
                                                       "# Half of the\n# round trip.\n"
                                                       "latency: 2 us\n"
                                                       "text: 'a # b'\n"
                                                       "map:\n  inner: 1  # nested\n");
    EXPECT_EQ(entry.about, "A part. Two lines.");
    EXPECT_EQ(entry.figures,
              (std::vector<CatalogueFigure>{{"peak", "312 TFLOPS", "datasheet"},
                                            {"latency", "2 us", "Half of the round trip."},
                                            {"text", "'a # b'", ""},
                                            {"map", "inner: 1", "nested"}}));
    EXPECT_EQ(entry.value_of("latency"), "2 us");
    EXPECT_EQ(entry.value_of("none"), "");
}

TEST(CatalogueEntry, ABaseGivesItsFigures) {
    const TestFolder folder;
    std::filesystem::create_directories(folder / "nodes");
    folder.write("nodes/a.yaml", "gpus: 8  # datasheet\nlink: 1\n");
    folder.write("nodes/b.yaml", "base: a\nlink: 2\n");
    folder.write("nodes/c.yaml", "base: b\n");
    const auto entries = read_catalogue_section(folder.path(), "nodes");
    ASSERT_TRUE(entries);
    ASSERT_EQ(entries->size(), 3u);
    EXPECT_EQ((*entries)[1].value_of("link"), "2");
    EXPECT_EQ((*entries)[2].value_of("link"), "2");
    EXPECT_EQ((*entries)[2].value_of("gpus"), "8");
}

TEST(CatalogueEntry, EveryEntryOfEverySectionSaysWhereItIsFrom) {
    for (const std::string_view section : kCatalogueSections) {
        const auto entries = read_catalogue_section(default_catalogue(), section);
        ASSERT_TRUE(entries);
        EXPECT_FALSE(entries->empty()) << section;
        for (const CatalogueEntry& entry : *entries) {
            bool said = !entry.about.empty();
            for (const CatalogueFigure& figure : entry.figures) {
                said = said || !figure.source.empty();
            }
            EXPECT_TRUE(said) << section << '/' << entry.name;
        }
    }
}

}  // namespace
}  // namespace orrery
