// SPDX-License-Identifier: Apache-2.0
// Replays the seed corpus of the reader's fuzz target, and cuts and bends of each seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace orrery {
namespace {

void run(const std::string& text) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

std::vector<std::string> seeds() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry :
         std::filesystem::directory_iterator{ORRERY_SOURCE_DIR "/tests/fuzz/corpus/reader"}) {
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

TEST(ReaderCorpus, NoSeedCrashesTheReader) {
    const std::vector<std::string> texts = seeds();
    EXPECT_GE(texts.size(), 20U);
    for (const std::string& text : texts) {
        run(text);
    }
}

TEST(ReaderCorpus, NoBentSeedCrashesTheReader) {
    constexpr std::uint64_t kSeed = 20261121;
    std::mt19937_64 random{kSeed};
    RecordProperty("seed", std::to_string(kSeed));
    for (const std::string& seed : seeds()) {
        for (int i = 0; i < 20 && !seed.empty(); ++i) {
            std::string text = seed.substr(0, 1 + random() % seed.size());
            for (int changes = 0; changes < 3; ++changes) {
                text[random() % text.size()] = "\n:{}[]'\"&*-# \t0a\x00\xff"[random() % 18];
            }
            run(text);
        }
    }
}

}  // namespace
}  // namespace orrery
