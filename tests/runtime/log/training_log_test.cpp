// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/training_log.h"

#include <gtest/gtest.h>

#include "runtime/trainer.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(TrainingLog, IsAJsonObjectALine) {
    const TestFolder folder;
    TrainingJob job;
    job.log_file = folder / "log";
    for (int run = 0; run < 2; ++run) {  // the second is appended
        Result<TrainingLog> log = TrainingLog::open(job, [](const std::string&) { FAIL(); });
        ASSERT_TRUE(log) << log.error().to_string();
        log->step({.step = 3,
                   .consumed_samples = 12,
                   .seconds = 0.5,
                   .learning_rate = 1e-3,
                   .loss = 2.25,
                   .gradient_norm = 1.5});
        log->validation(3, 2.5);
        log->sample(3, "a", "b\n");
    }
    const std::string once =
        "{\"step\":3,\"consumed_samples\":12,\"loss\":2.25,\"grad_norm\":1.5,"
        "\"learning_rate\":0.001,\"seconds\":0.5}\n"
        "{\"step\":3,\"validation_loss\":2.5}\n"
        "{\"step\":3,\"prompt\":\"a\",\"sample\":\"b\\n\"}\n";
    EXPECT_EQ(read_text(folder / "log"), once + once);
}

TEST(TrainingLog, WarnsOnceAndGoesOn) {
    TrainingJob job;
    job.log_file = "/dev/full";
    int warnings = 0;
    Result<TrainingLog> log = TrainingLog::open(job, [&](const std::string&) { ++warnings; });
    ASSERT_TRUE(log) << log.error().to_string();
    log->validation(1, 2.0);
    log->validation(2, 2.0);
    EXPECT_EQ(warnings, 1);
}

TEST(TrainingLog, StringsAreWholeUtf8) {
    EXPECT_EQ(json_string("a\"\\\n\t\x01"), "\"a\\\"\\\\\\n\\u0009\\u0001\"");
    EXPECT_EQ(json_string("ä€😀"), "\"ä€😀\"");
    const std::string bad = "\"\xEF\xBF\xBD\"";
    EXPECT_EQ(json_string("\xFF"), bad);
    EXPECT_EQ(json_string("\xC3"), bad);                                    // cut short
    EXPECT_EQ(json_string("\xC0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");     // overlong
    EXPECT_EQ(json_string("\xED\xA0\x80").substr(0, 4), bad.substr(0, 4));  // a surrogate
}

}  // namespace
}  // namespace orrery
