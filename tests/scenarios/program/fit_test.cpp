// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/base/input_file.h"
#include "kernels/efficiency_table.h"
#include "scenarios/program/exit_status.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

class FitCommand : public ::testing::Test {
protected:
    FitCommand() : folder(fs::path{testing::TempDir()} / test_name()) {
        fs::create_directories(folder);
        header = published("training.csv", "case,");
        lines = published("training.csv", "MS-256-M,");
    }
    ~FitCommand() override { fs::remove_all(folder); }

    static std::string test_name() {
        return testing::UnitTest::GetInstance()->current_test_info()->name();
    }
    // The rows of a published table that begin with `name`.
    static std::string published(const std::string& table, const std::string& name) {
        std::ifstream file{ORRERY_SOURCE_DIR "/scenarios/catalogue/published/" + table};
        std::string rows;
        for (std::string line; std::getline(file, line);) {
            rows += line.starts_with(name) ? line + "\n" : "";
        }
        return rows;
    }
    std::string cases(const std::string& text) const {
        std::ofstream{folder / "cases.csv"} << text;
        return (folder / "cases.csv").string();
    }
    std::string output() const { return (folder / "table.csv").string(); }
    int run(FitSpec spec, const std::string& file = {}) {
        // Few steps stand in for the catalogue's tables of other software and of experts.
        const std::string other = testing::TempDir() + "unseen_" + test_name() + ".csv";
        const std::string experts = testing::TempDir() + "experts_" + test_name() + ".csv";
        std::ofstream{other} << header + lines;
        std::ofstream{experts} << published("training_moe.csv", "case,")
                               << published("training_moe.csv", "MPF-T3-mixtral-8x22b-");
        FitArguments arguments;
        arguments.output = file;
        arguments.spec = std::move(spec);
        arguments.spec.unseen = other;
        arguments.spec.experts = experts;
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        const int status = fit_command(arguments);
        out = testing::internal::GetCapturedStdout();
        err = testing::internal::GetCapturedStderr();
        fs::remove(other);
        fs::remove(experts);
        return status;
    }

    fs::path folder;
    std::string header;
    std::string lines;
    std::string out;
    std::string err;
};

TEST_F(FitCommand, WritesATableThatReadsBackAndPrintsOneLineAFamily) {
    ASSERT_EQ(run({cases(header + lines)}, output()), kExitOk) << err;
    EXPECT_NE(out.find("\n  megascale-strong175b"), std::string::npos) << out;
    EXPECT_NE(out.find("\n  balanced median error"), std::string::npos) << out;
    const auto table = read_efficiency_table(output());
    ASSERT_TRUE(table) << table.error().front().to_string();
    EXPECT_NE(table->find("sustained.gemm", "ampere", "fp16"), nullptr);
    std::istringstream text{out};
    for (std::string line; std::getline(text, line);) {
        EXPECT_LE(line.size(), 100U) << line;
    }
}

TEST_F(FitCommand, PrintsTheTableWhereNoFileIsNamed) {
    ASSERT_EQ(run({cases(header + lines)}), kExitOk) << err;
    EXPECT_NE(out.find("\nname,generation,dtype,value,sigma,source\n"), std::string::npos) << out;
    EXPECT_EQ(std::distance(fs::directory_iterator{folder}, {}), 1);
}

TEST_F(FitCommand, WritesTheSameBytesOnAnyNumberOfThreads) {
    const std::string file = cases(header + lines);
    std::vector<std::string> tables;
    for (const std::uint32_t jobs : {1U, 3U}) {
        ASSERT_EQ(run({.file = file, .jobs = jobs}, output()), kExitOk) << err;
        std::stringstream table;
        table << std::ifstream{output()}.rdbuf();
        tables.push_back(out + table.str());
    }
    EXPECT_EQ(tables[0], tables[1]);
}

TEST_F(FitCommand, WritesTheTermsOfTheStepsWhereAFileIsNamed) {
    const std::string terms = (folder / "terms.csv").string();
    ASSERT_EQ(run({.file = cases(header + lines), .terms = terms}, output()), kExitOk) << err;
    const auto read = read_step_terms(terms);
    ASSERT_TRUE(read);
    EXPECT_TRUE(read->steps.contains("MS-256-M"));
    EXPECT_EQ(run({.terms = terms, .kernels = true}), kExitUserError);
    EXPECT_NE(err.find("--terms"), std::string::npos) << err;
    EXPECT_EQ(run({.file = cases(header + lines), .terms = "-"}), kExitUserError);
    EXPECT_NE(err.find("name a file"), std::string::npos) << err;
}

TEST_F(FitCommand, RefusesAnUnwritablePlaceBeforeItWorks) {
    EXPECT_EQ(run({cases(header + lines)}, (folder / "no/such/table.csv").string()),
              kExitUserError);
    EXPECT_EQ(out, "");
    EXPECT_NE(err.find("table.csv: error: can't be written"), std::string::npos) << err;
}

TEST_F(FitCommand, RefusesCasesOfWhichNoneCanBeSimulated) {
    std::string unknown = lines;
    unknown.replace(unknown.find("a100-80g"), 8, "a100-81g");
    EXPECT_EQ(run({cases(header + unknown)}, output()), kExitUserError);
    EXPECT_NE(err.find("cases.csv: error: no row can be simulated"), std::string::npos) << err;
    EXPECT_EQ(std::distance(fs::directory_iterator{folder}, {}), 1) << "a file was left behind";
}

TEST_F(FitCommand, ErrorsOfTheCasesLeaveNoTable) {
    EXPECT_EQ(run({(folder / "nowhere.csv").string()}, output()), kExitUserError);
    EXPECT_NE(err.find("nowhere.csv"), std::string::npos) << err;
    EXPECT_EQ(run({cases("case,family\n")}, output()), kExitUserError);
    EXPECT_FALSE(fs::exists(output()));
    EXPECT_EQ(out, "");
}

// The committed factors are what all measurements of the catalogue give, and nothing else.
TEST_F(FitCommand, FitsKernelsOnTheCataloguesMeasurements) {
    ASSERT_EQ(run({.kernels = true}, output()), kExitOk) << err;
    EXPECT_NE(out.find("\n  gemm a100-80g "), std::string::npos) << out;
    const std::string committed_file =
        ORRERY_SOURCE_DIR "/scenarios/catalogue/kernel_efficiency.csv";
    const auto head_of = [](const std::string& file) {
        const std::string text = read_input(file).value();
        return text.substr(0, text.find("name,"));
    };
    EXPECT_EQ(head_of(output()), head_of(committed_file));
    const auto made = read_efficiency_table(output());
    const auto committed = read_efficiency_table(committed_file);
    ASSERT_TRUE(made);
    ASSERT_TRUE(committed);
    ASSERT_EQ(made->rows().size(), committed->rows().size());
    for (const auto& [key, parameter] : made->rows()) {
        const auto& [name, generation, dtype] = key;
        const EfficiencyParameter* row = committed->find(name, generation, dtype);
        ASSERT_NE(row, nullptr) << name;
        EXPECT_NEAR(row->value, parameter.value, 1e-3 * std::abs(parameter.value))
            << name << " " << generation;
        EXPECT_EQ(row->source, parameter.source) << name << " " << generation;
    }
}

TEST_F(FitCommand, KernelsNeedATableThatCanBeRead) {
    EXPECT_EQ(run({.file = cases("case,family\n"), .kernels = true}), kExitUserError);
    EXPECT_EQ(run({.file = (folder / "nowhere.csv").string(), .kernels = true}), kExitUserError);
    EXPECT_NE(err.find("nowhere.csv"), std::string::npos) << err;
}

TEST_F(FitCommand, WantsATableOfSteps) {
    EXPECT_EQ(run({}), kExitUserError);
    EXPECT_NE(err.find("no table of measured steps is named"), std::string::npos) << err;
}

}  // namespace
}  // namespace orrery
