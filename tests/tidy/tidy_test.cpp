// SPDX-License-Identifier: Apache-2.0
// Holds the rules of the house (tests/tidy/rules.h) over this checkout. Known exceptions stand in
// ratchet.txt, which may only shrink: a new finding fails, and so does an exception that is gone.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "tests/tidy/rules.h"

namespace orrery::tidy {
namespace {

using Place = std::pair<std::string, std::string>;  // rule, path

const SourceTree& checkout() {
    static const SourceTree tree = read_tree(ORRERY_SOURCE_DIR);
    return tree;
}

// Lines "rule path findings"; lines that begin with # are comments.
std::map<Place, std::size_t> read_ratchet() {
    std::ifstream file{ORRERY_SOURCE_DIR "/tests/tidy/ratchet.txt"};
    EXPECT_TRUE(file.is_open());
    std::map<Place, std::size_t> ratchet;
    std::string line;
    while (std::getline(file, line)) {
        if (line.empty() || line[0] == '#') {
            continue;
        }
        std::istringstream words{line};
        Place place;
        std::size_t findings = 0;
        EXPECT_TRUE(words >> place.first >> place.second >> findings && findings > 0) << line;
        EXPECT_TRUE(ratchet.emplace(place, findings).second) << "twice: " << line;
    }
    return ratchet;
}

// Rules without exceptions.
TEST(Tidy, TheLengthOfACommandHasNoExceptions) {
    for (const auto& [place, findings] : read_ratchet()) {
        EXPECT_NE(place.first, "command_length") << place.second;
    }
}

TEST(Tidy, ReadsTheCheckout) {
    ASSERT_NE(checkout().find("engine/base/units.h"), nullptr);
    ASSERT_NE(checkout().find("tests/tidy/tidy_test.cpp"), nullptr);
    EXPECT_EQ(checkout().find("build/CMakeCache.txt"), nullptr);
}

TEST(Tidy, NothingBreaksARuleThatIsNotAKnownException) {
    auto ratchet = read_ratchet();
    std::map<Place, std::size_t> now;
    for (const Finding& finding : all_findings(checkout())) {
        const Place place{finding.rule, finding.path};
        const std::size_t count = ++now[place];
        EXPECT_LE(count, ratchet[place])
            << finding.rule << ": " << finding.path << " " << finding.detail;
    }
}

TEST(Tidy, TheListOfExceptionsShrinksAsTheyGo) {
    std::map<Place, std::size_t> now;
    for (const Finding& finding : all_findings(checkout())) {
        ++now[{finding.rule, finding.path}];
    }
    for (const auto& [place, findings] : read_ratchet()) {
        EXPECT_GE(now[place], findings)
            << "better than ratchet.txt says: lower to " << now[place]
            << " (or delete at 0): " << place.first << " " << place.second;
    }
}

}  // namespace
}  // namespace orrery::tidy
