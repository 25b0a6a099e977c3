// SPDX-License-Identifier: Apache-2.0
// Replays the seed corpora of the fuzz targets, and cuts and bends of each seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/fuzz/readers.h"

namespace orrery {

// GoogleTest puts it into the names of cases.
void PrintTo(const FuzzedReader& reader, std::ostream* out) {
    *out << reader.name;
}

namespace {

namespace fs = std::filesystem;

const fs::path kCorpora = ORRERY_SOURCE_DIR "/tests/fuzz/corpus";

std::vector<std::string> seeds_of(const std::string& reader) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator{kCorpora / reader}) {
        files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    std::vector<std::string> texts;
    for (const auto& file : files) {
        std::ifstream stream{file, std::ios::binary};
        texts.emplace_back(std::istreambuf_iterator<char>{stream},
                           std::istreambuf_iterator<char>{});
    }
    return texts;
}

// ORRERY_FUZZ_ROUNDS: bends of each seed.
int rounds() {
    const char* chosen = std::getenv("ORRERY_FUZZ_ROUNDS");
    return chosen == nullptr ? 20 : std::max(1, std::atoi(chosen));
}

class FuzzCorpus : public ::testing::TestWithParam<FuzzedReader> {};

TEST_P(FuzzCorpus, NoSeedCrashesItsReader) {
    const std::vector<std::string> seeds = seeds_of(GetParam().name);
    EXPECT_GE(seeds.size(), 4u);
    for (const std::string& seed : seeds) {
        GetParam().read(seed);
    }
}

TEST_P(FuzzCorpus, NoBentSeedCrashesItsReader) {
    constexpr std::uint64_t kSeed = 20261121;
    constexpr char kBent[] = "\n:{}[]'\"&*-# ,<>/=\t09ax\x00\xff";
    RecordProperty("seed", std::to_string(kSeed));
    std::mt19937_64 random{kSeed};
    for (const std::string& seed : seeds_of(GetParam().name)) {
        for (int i = 0; i < rounds() && !seed.empty(); ++i) {
            // Half of them cut short, half whole.
            std::string text = i % 2 == 0 ? seed.substr(0, 1 + random() % seed.size()) : seed;
            for (int changes = 0; changes < 3; ++changes) {
                text[random() % text.size()] = kBent[random() % (sizeof kBent - 1)];
            }
            GetParam().read(text);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Readers,
                         FuzzCorpus,
                         ::testing::ValuesIn(fuzzed_readers().begin(), fuzzed_readers().end()),
                         [](const auto& reader) { return std::string{reader.param.name}; });

TEST(FuzzCorpora, EachBelongsToAReader) {
    std::set<std::string> folders;
    for (const auto& entry : fs::directory_iterator{kCorpora}) {
        folders.insert(entry.path().filename().string());
    }
    std::set<std::string> readers;
    for (const FuzzedReader& reader : fuzzed_readers()) {
        readers.insert(reader.name);
    }
    EXPECT_EQ(folders, readers);
}

}  // namespace
}  // namespace orrery
