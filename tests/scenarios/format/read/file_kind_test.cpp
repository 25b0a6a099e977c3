// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/file_kind.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "tests/scenarios/sections.h"

namespace orrery {
namespace {

std::string other_than(const std::string& text, std::string_view wanted) {
    const Error error = of_another_kind(section_of(text), {wanted});
    return error.what.empty() ? "" : error.to_string();
}

TEST(FileKind, OfAFileIsWhatItSays) {
    for (const FileKind& kind : file_kinds()) {
        const std::string word{kind.word == "fabric" ? "clos" : kind.word};
        EXPECT_EQ(other_than("kind: " + word + "\nx: 1\n", kind.word), "") << word;
        EXPECT_EQ(file_kind(kind.word), &kind);
        const bool scenario = kind.word == "scenario";
        EXPECT_EQ(other_than("# a\nkind: " + word + "\n", "scenario").empty(), scenario) << word;
    }
    EXPECT_EQ(other_than("# a\nkind: sweep\nscenario: a.yaml\n", "scenario"),
              "s.yaml:2:7: error: this is a sweep, and a scenario is due (hint: orrery sweep "
              "FILE)");
    EXPECT_EQ(other_than("kind: scenario\n", "sweep"),
              "s.yaml:1:7: error: this is a scenario, and a sweep is due (hint: orrery simulate "
              "FILE)");
    EXPECT_EQ(other_than("kind: scenaro\n", "scenario"),
              "s.yaml:1:7: error: kind can't be 'scenaro' (hint: did you mean 'scenario'?)");
    EXPECT_EQ(other_than("kind: zzz\n", "sweep"),
              "s.yaml:1:7: error: kind can't be 'zzz' (hint: kind: sweep is due here)");
    EXPECT_NE(other_than("kind: [1]\n", "scenario").find("kind can't be a list"),
              std::string::npos);
    EXPECT_EQ(file_kind("campaign"), nullptr);
}

TEST(FileKind, OfAFileWithoutItFollowsFromTheKeys) {
    EXPECT_EQ(other_than("model: x\nplna: 3\n", "scenario"), "");
    EXPECT_EQ(other_than("nothing: known\n", "scenario"), "");
    EXPECT_NE(other_than("num_sms: 1\npeak_fp32: 1 TFLOPS\n", "scenario").find("this is a device"),
              std::string::npos);
    EXPECT_NE(other_than("num_layers: 2\nhidden_size: 8\n", "scenario").find("this is a model"),
              std::string::npos);
    EXPECT_NE(other_than("cluster: x\nmodel: y\n", "sweep").find("this is a scenario"),
              std::string::npos);
    EXPECT_NE(other_than("3", "sweep").find("a sweep must be a map, not '3'"), std::string::npos);
}

TEST(FileKind, OfAnEntryMustBeThatOfItsSection) {
    for (const FileKind& kind : file_kinds()) {
        for (const std::string& name : kind.catalogue.empty()
                                           ? std::vector<std::string>{}
                                           : shipped_catalogue().names(kind.catalogue)) {
            const auto file =
                read_yaml_file(std::filesystem::path{ORRERY_SOURCE_DIR} / "scenarios/catalogue" /
                               kind.catalogue / (name + ".yaml"));
            ASSERT_TRUE(file) << name;
            ASSERT_NE(file->find("kind"), nullptr) << name;
            EXPECT_EQ(of_another_kind(*file, {kind.word}).what, "") << name;
        }
    }
}

TEST(FileKind, AKeyOfAnotherSectionIsToldItsPlace) {
    const auto scenario = read_scenario_text(
        "cluster: {nodes: 1, node: laptop-2gpu, micro_batch_size: 1}\nmodel: gpt-2-124m\n"
        "plan: {micro_batch_size: 1, global_batch_size: 2, num_layers: 2, faults: [], micro_batch: "
        "3}\n",
        "s.yaml",
        {});
    ASSERT_FALSE(scenario);
    EXPECT_EQ(lines_of(scenario.error()),
              "s.yaml:1:40: error: unknown key 'micro_batch_size' in 'cluster' (hint: "
              "'micro_batch_size' belongs to plan: or search:)\n"
              "s.yaml:3:51: error: unknown key 'num_layers' in 'plan' (hint: 'num_layers' belongs "
              "to model:)\n"
              "s.yaml:3:66: error: unknown key 'faults' in 'plan' (hint: 'faults' belongs to the "
              "top of the file)\n"
              "s.yaml:3:78: error: unknown key 'micro_batch' in 'plan' (hint: did you mean "
              "'micro_batch_size' or 'reduce_every_micro_batch'?)\n");
}

}  // namespace
}  // namespace orrery
