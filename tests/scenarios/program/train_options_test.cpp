// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/program/command_words.h"
#include "scenarios/program/train.h"

namespace orrery {
namespace {

// What a process passes on to its ranks: all but the number of them.
TEST(TrainOptions, HaveAWordForEverythingThatARankMustKnow) {
    TrainArguments arguments{.file = "s.yaml",
                             .overrides = {"job.steps=3"},
                             .num_processes = 4,
                             .profile_file = "p.csv",
                             .written_profile = "w.csv",
                             .record_folder = "run",
                             .trace_file = "t.json",
                             .quiet = true,
                             .device = "cpu",
                             .resume = true,
                             .overwrite = true};
    arguments.launch.clear();
    EXPECT_EQ(command_words("train", train_options(arguments), {"--nproc"}),
              (std::vector<std::string>{"train",
                                        "s.yaml",
                                        "--set",
                                        "job.steps=3",
                                        "--profile",
                                        "p.csv",
                                        "--device",
                                        "cpu",
                                        "--export-profile",
                                        "w.csv",
                                        "--record",
                                        "run",
                                        "--trace",
                                        "t.json",
                                        "--quiet",
                                        "--resume",
                                        "--overwrite"}));
}

}  // namespace
}  // namespace orrery
