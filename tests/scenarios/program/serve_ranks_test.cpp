// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/program/serve.h"

namespace orrery {
namespace {

// docs/guide/serve-real.md serves with them.
TEST(ServeRanks, GetTheOptionsOfTheCommand) {
    ServeArguments arguments;
    arguments.file = "load.yaml";
    arguments.overrides = {"workload.num_requests=8"};
    arguments.listen = "127.0.0.1:0";
    arguments.real = true;
    arguments.json = true;
    const std::vector<std::string> words = words_of_ranks(arguments);
    EXPECT_EQ(words,
              (std::vector<std::string>{"serve",
                                        "load.yaml",
                                        "--set",
                                        "workload.num_requests=8",
                                        "--real",
                                        "--listen",
                                        "127.0.0.1:0",
                                        "--max-queue",
                                        "256",
                                        "--max-body",
                                        "1048576",
                                        "--json"}));
}

}  // namespace
}  // namespace orrery
