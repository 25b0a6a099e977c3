// SPDX-License-Identifier: Apache-2.0
// The committed factors of steps are what the command in their head makes, byte by byte. That
// command simulates a thousand steps, which takes five minutes of a core. The test fits again on
// the committed terms of these steps (step_terms.csv, written by the same command), and simulates a
// twentieth of them anew, at least one of each family that has one on few GPUs: a step of 16,384
// GPUs takes a minute. A changed line of the terms is a step that has moved. Which steps are drawn,
// the sources decide: a change of any room draws others.
// tests/scenarios/studies/fit/step_table_test.cpp tells in milliseconds that an input has changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "engine/base/input_file.h"
#include "scenarios/format/provenance/fingerprint.h"
#include "scenarios/studies/fit/fit_study.h"
#include "scenarios/studies/fit/step_table.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot{ORRERY_SOURCE_DIR};
const char* const kTerms = "tests/determinism/step_terms.csv";
const char* const kTable = "scenarios/catalogue/step_efficiency.csv";
constexpr std::uint64_t kShare = 20;
constexpr std::int64_t kFewGpus = 4096;

// By row; empty for steps on many GPUs, none of which is drawn for its family's sake.
using Families = std::map<std::string, std::string>;

Families families_of(const std::vector<fs::path>& tables) {
    Families families;
    for (const fs::path& table : tables) {
        const auto rows = read_published_cases(table);
        EXPECT_TRUE(rows);
        for (const PublishedCase& row : rows.value_or(std::vector<PublishedCase>{})) {
            families[row.name] = row.num_gpus <= kFewGpus ? row.family : "";
        }
    }
    return families;
}

std::uint64_t drawn_number(const std::string& seed, const std::string& row) {
    Fingerprint number;
    number.add(seed);
    number.add(row);
    return std::stoull(number.hexadecimal().substr(16), nullptr, 16) >> 8U;
}

// A share of the rows, and of each family the one with the smallest number.
std::set<std::string> drawn_rows(const RowTerms& rows,
                                 const Families& families,
                                 const std::string& seed) {
    std::set<std::string> drawn;
    std::map<std::string, std::pair<std::uint64_t, std::string>> smallest;
    for (const auto& [row, terms] : rows) {
        const std::pair numbered{drawn_number(seed, row), row};
        if (numbered.first % kShare == 0) {
            drawn.insert(row);
        }
        if (const std::string& family = families.at(row); !family.empty()) {
            auto& of_family = smallest.try_emplace(family, numbered).first->second;
            of_family = std::min(of_family, numbered);
        }
    }
    for (const auto& [family, numbered] : smallest) {
        drawn.insert(numbered.second);
    }
    return drawn;
}

// Of all files in the rooms that a step's time follows from.
std::string seed_of_sources() {
    std::vector<fs::path> files;
    for (const char* room : {"engine", "kernels", "models", "network", "scenarios"}) {
        for (const auto& entry : fs::recursive_directory_iterator{kRoot / room}) {
            if (entry.is_regular_file()) {
                files.push_back(entry.path());
            }
        }
    }
    std::ranges::sort(files);
    Fingerprint all;
    for (const fs::path& file : files) {
        all.add_file(file);
    }
    return all.hexadecimal();
}

StepTerms committed_terms() {
    const auto terms = read_step_terms(kRoot / kTerms);
    EXPECT_TRUE(terms);
    return terms.value_or(StepTerms{});
}

struct CommittedRows {
    RowTerms StepTerms::*terms;
    Families families;
};

std::vector<CommittedRows> committed_rows() {
    const StepTableInputs inputs = catalogue_inputs(kRoot / "scenarios/catalogue");
    return {{&StepTerms::steps, families_of({inputs.steps})},
            {&StepTerms::calls, families_of({inputs.host_bound})},
            {&StepTerms::unseen, families_of(inputs.unseen)},
            {&StepTerms::experts, families_of({inputs.experts})}};
}

// A failure names the lines that differ: each is a row.
void expect_same_lines(const std::string& made, const std::string& committed) {
    std::istringstream of_made{made};
    std::istringstream of_committed{committed};
    std::string one;
    std::string other;
    while (std::getline(of_committed, other)) {
        ASSERT_TRUE(std::getline(of_made, one)) << "is missing: " << other;
        EXPECT_EQ(one, other);
    }
    EXPECT_FALSE(std::getline(of_made, one)) << one;
}

TEST(StepTable, IsMadeAgainByTheCommandInItsHead) {
    const StepTerms committed = committed_terms();
    StepTerms known = committed;
    for (const auto& [terms, families] : committed_rows()) {
        for (const std::string& row : drawn_rows(known.*terms, families, seed_of_sources())) {
            (known.*terms).erase(row);
        }
    }
    fs::current_path(kRoot);
    const auto fitted = fit_steps({.file = "scenarios/catalogue/published/training.csv",
                                   .output = kTable,
                                   .terms = kTerms,
                                   .known = known,
                                   .jobs = 1});
    ASSERT_TRUE(fitted) << fitted.error().front().to_string();
    expect_same_lines(fitted->terms_csv, read_input(kRoot / kTerms).value());
    expect_same_lines(fitted->csv, read_input(kRoot / kTable).value());
}

TEST(StepTable, EveryStepIsDrawnAtSomeTimeAndEachFamilyAlways) {
    const StepTerms committed = committed_terms();
    for (const auto& [terms, families] : committed_rows()) {
        std::set<std::string> ever;
        std::set<std::string> of_families;
        for (const auto& [row, of_row] : committed.*terms) {
            of_families.insert(families.at(row));
        }
        of_families.erase("");
        for (int seed = 0; seed < 200; ++seed) {
            std::set<std::string> reached;
            for (const std::string& row :
                 drawn_rows(committed.*terms, families, std::to_string(seed))) {
                ever.insert(row);
                reached.insert(families.at(row));
            }
            reached.erase("");
            EXPECT_EQ(reached, of_families);
        }
        EXPECT_GT(ever.size(), 0U);
        EXPECT_EQ(ever.size(), (committed.*terms).size());
    }
}

}  // namespace
}  // namespace orrery
