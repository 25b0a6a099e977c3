// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint_on_signal.h"

#include <gtest/gtest.h>

#include <csignal>

#include "runtime/checkpoint.h"
#include "runtime/state/checkpoint_choice.h"
#include "tests/runtime/tiny_model.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

std::unique_ptr<Trainer> tiny_trainer(const TrainingJob& job) {
    Transformer model = tiny_gpt();
    model.vocab_size = 256;
    std::string text;
    for (int i = 0; i < 60; ++i) {
        text += "round and round the old mill goes; ";
    }
    auto trainer =
        Trainer::create(model,
                        {.micro_batch_size = 1, .global_batch_size = 1, .precision = Dtype::fp32},
                        job,
                        tokenize_bytes(text));
    EXPECT_TRUE(trainer) << trainer.error().to_string();
    return std::move(*trainer);
}

TEST(CheckpointOnSignal, SavesTheStepThatIsDoneAndStops) {
    const TestFolder folder;
    const TrainingJob job{.steps = 9, .checkpoint_folder = folder.path()};
    const auto trainer = tiny_trainer(job);
    CheckpointOnSignal stop{job};
    ASSERT_TRUE(stop.before_step(*trainer));
    ASSERT_TRUE(trainer->step());
    ASSERT_TRUE(stop.before_step(*trainer));
    EXPECT_EQ(stop.signal(), 0);
    std::raise(SIGTERM);
    EXPECT_FALSE(stop.before_step(*trainer));
    EXPECT_EQ(stop.signal(), SIGTERM);
    const auto saved = resumable(folder.path());
    ASSERT_TRUE(saved) << saved.error().to_string();
    EXPECT_EQ(saved->front().filename(), checkpoint_name(1));
}

TEST(CheckpointOnSignal, BeforeTheFirstStepThereIsNothingToSave) {
    const TestFolder folder;
    const TrainingJob job{.steps = 9, .checkpoint_folder = folder.path()};
    const auto trainer = tiny_trainer(job);
    CheckpointOnSignal stop{job};
    std::raise(SIGINT);
    EXPECT_FALSE(stop.before_step(*trainer));
    EXPECT_EQ(stop.signal(), SIGINT);
    EXPECT_FALSE(resumable(folder.path()));
}

TEST(CheckpointOnSignal, WithoutAFolderSignalsStayAsTheyAre) {
    CheckpointOnSignal stop{TrainingJob{}};
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    EXPECT_EQ(sigismember(&blocked, SIGTERM), 0);
}

}  // namespace
}  // namespace orrery
