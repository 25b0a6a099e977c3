// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/serve_ranks.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

// docs/guide/serve-real.md serves with them.
TEST(ServeRanks, GetTheOptionsOfTheCommand) {
    ServeArguments arguments;
    arguments.file = "load.yaml";
    arguments.overrides = {"workload.num_requests=8"};
    arguments.listen = "127.0.0.1:0";
    arguments.json = true;
    const std::vector<std::string> words = words_of_ranks(arguments);
    const std::vector<std::string> first(words.begin(), words.begin() + 7);
    EXPECT_EQ(first,
              (std::vector<std::string>{"serve",
                                        "load.yaml",
                                        "--real",
                                        "--set",
                                        "workload.num_requests=8",
                                        "--listen",
                                        "127.0.0.1:0"}));
    EXPECT_EQ(words.back(), "--json");
}

}  // namespace
}  // namespace orrery
