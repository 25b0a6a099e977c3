// SPDX-License-Identifier: Apache-2.0
#include "runtime/trainer.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "runtime/state/held_parameters.h"
#include "tests/runtime/communication/local_ranks.h"
#include "tests/runtime/tiny_model.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

// Text with an order to learn: its bigrams say more than its letters.
Tokens rhyme() {
    std::string text;
    for (int i = 0; i < 60; ++i) {
        text += "round and round the old mill goes, nobody hears and nobody knows; ";
    }
    return tokenize_bytes(text);
}

double unigram_entropy(const Tokens& tokens) {
    std::array<double, 256> counts{};
    for (std::int64_t i = 0; i < tokens.size(); ++i) {
        counts[static_cast<std::size_t>(tokens[i])] += 1;
    }
    double entropy = 0;
    for (const double count : counts) {
        const double share = count / static_cast<double>(tokens.size());
        entropy -= count > 0 ? share * std::log(share) : 0;
    }
    return entropy;
}

Transformer byte_model() {
    Transformer model = tiny_gpt();
    model.hidden_size = 32;
    model.ffn_hidden_size = 128;
    model.kv_channels = 16;
    model.seq_length = 32;
    model.vocab_size = 256;
    return model;
}

TrainingJob sixty_steps() {
    return {.steps = 60, .seed = 3, .learning_rate = 1e-2, .warmup_steps = 5, .eval_steps = 2};
}

ParallelPlan plan_of_eight() {
    return {.micro_batch_size = 4, .global_batch_size = 8, .precision = Dtype::fp32};
}

std::unique_ptr<Trainer> trainer_of(const TrainingJob& job) {
    auto trainer = Trainer::create(byte_model(), plan_of_eight(), job, rhyme());
    EXPECT_TRUE(trainer);
    return std::move(*trainer);
}

TEST(Trainer, LearnsMoreThanHowOftenLettersAre) {
    const auto trainer = trainer_of(sixty_steps());
    const double entropy = unigram_entropy(rhyme());
    double first = 0;
    double last = 0;
    for (int s = 0; s < 60; ++s) {
        const Result<StepReport> report = trainer->step();
        ASSERT_TRUE(report);
        first = s == 0 ? report->loss : first;
        last = report->loss;
    }
    EXPECT_NEAR(first, std::log(256.0), 0.3);
    EXPECT_LT(last, 0.7 * entropy);
    EXPECT_LT(*trainer->evaluate(), 0.8 * entropy);
}

TEST(Trainer, TwiceTheSameRunGivesTheSameBits) {
    std::vector<double> losses[2];
    for (auto& run : losses) {
        const auto trainer = trainer_of(sixty_steps());
        for (int s = 0; s < 10; ++s) {
            run.push_back(trainer->step()->loss);
        }
        run.push_back(*trainer->evaluate());
    }
    EXPECT_EQ(losses[0], losses[1]);
}

TEST(Trainer, EvaluationChangesNothing) {
    const auto plain = trainer_of(sixty_steps());
    const auto evaluated = trainer_of(sixty_steps());
    for (int s = 0; s < 5; ++s) {
        EXPECT_EQ(plain->step()->loss, evaluated->step()->loss);
        const double once = *evaluated->evaluate();
        EXPECT_EQ(*evaluated->evaluate(), once);
    }
}

TEST(Trainer, StopsWhereTheLossIsNoNumber) {
    TrainingJob job = sixty_steps();
    job.learning_rate = 1e30;
    job.warmup_steps = 0;
    job.clip_grad = 0;
    const auto trainer = trainer_of(job);
    Result<StepReport> report = trainer->step();
    for (int s = 0; s < 20 && report; ++s) {
        report = trainer->step();
    }
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().hint.find("learning_rate"), std::string::npos);
}

TEST(Trainer, NeedsDataForASample) {
    const auto trainer =
        Trainer::create(byte_model(), plan_of_eight(), sixty_steps(), tokenize_bytes("short"));
    ASSERT_FALSE(trainer);
    EXPECT_EQ(trainer.error().where, "job.dataset");
}

// The same samples on two ranks, as replicas, stages or parts of tensors: the same losses up to the
// order of sums, and the same report on both.
TEST(Trainer, TwoRanksTrainWhatOneDoes) {
    const auto alone = trainer_of(sixty_steps());
    std::vector<double> expected;
    for (int s = 0; s < 5; ++s) {
        expected.push_back(alone->step()->loss);
    }
    expected.push_back(*alone->evaluate());
    ParallelPlan replicas = plan_of_eight();
    replicas.data_parallel_size = 2;
    replicas.micro_batch_size = 2;
    replicas.data_parallel_sharding_strategy = ShardingStrategy::optim;
    ParallelPlan stages = plan_of_eight();
    stages.pipeline_model_parallel_size = 2;
    ParallelPlan parts = plan_of_eight();
    parts.tensor_model_parallel_size = 2;
    parts.sequence_parallel = true;
    for (const ParallelPlan& plan : {replicas, stages, parts}) {
        std::vector<double> losses[2];
        run_as_ranks(2, [&](std::unique_ptr<Transport> transport) {
            auto trainer =
                Trainer::create(byte_model(), plan, sixty_steps(), rhyme(), transport.get());
            ASSERT_TRUE(trainer) << trainer.error().to_string();
            std::vector<double>& own = losses[transport->rank()];
            for (int s = 0; s < 5; ++s) {
                own.push_back((*trainer)->step()->loss);
            }
            own.push_back(*(*trainer)->evaluate());
        });
        EXPECT_EQ(losses[0], losses[1]);
        ASSERT_EQ(losses[0].size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            EXPECT_NEAR(losses[0][i], expected[i], 2e-4 * expected[i]) << i;
        }
    }
}

TEST(Train, PrintsALineAnIntervalAndTheValidationLoss) {
    TrainingJob job = sixty_steps();
    job.steps = 5;
    job.log_interval = 2;
    job.eval_interval = 4;
    std::vector<std::string> lines;
    const auto trainer = trainer_of(job);
    ASSERT_TRUE(train(*trainer, plan_of_eight(), job, {[&](const std::string& line) {
        lines.push_back(line.substr(0, 22));
    }}));
    EXPECT_EQ(lines,
              (std::vector<std::string>{" iteration        2/  ",
                                        " iteration        4/  ",
                                        " validation loss at it",
                                        " iteration        5/  ",
                                        " validation loss at it"}));
}

std::vector<float> weights_of(Trainer& trainer) {
    std::vector<float> all;
    for (const HeldParameter& p : held_parameters(trainer.executor())) {
        for (std::int64_t i = 0; i < p.weight.size; ++i) {
            all.push_back(load(p.weight, i));
        }
    }
    return all;
}

std::vector<double> losses_of(Trainer& trainer, int steps) {
    std::vector<double> losses;
    for (int s = 0; s < steps; ++s) {
        losses.push_back(trainer.step()->loss);
    }
    return losses;
}

TEST(Trainer, ResumedRunHasTheBitsOfOneThatNeverStopped) {
    const TestFolder folder;
    TrainingJob job = sixty_steps();
    job.checkpoint_folder = folder.path();
    const auto straight = trainer_of(job);
    std::vector<double> expected = losses_of(*straight, 10);
    expected.push_back(*straight->evaluate());

    std::vector<double> losses;
    {
        const auto first = trainer_of(job);
        losses = losses_of(*first, 5);
        ASSERT_TRUE(first->save());
    }
    const auto second = trainer_of(job);
    ASSERT_TRUE(second->resume(folder.path()));
    EXPECT_EQ(second->steps_done(), 5);
    for (const double loss : losses_of(*second, 5)) {
        losses.push_back(loss);
    }
    losses.push_back(*second->evaluate());
    EXPECT_EQ(losses, expected);
    EXPECT_EQ(weights_of(*second), weights_of(*straight));
}

TEST(Trainer, ARunThatIsDoneHasNoStepsLeftAndOneOfAnotherSeedCannotResume) {
    const TestFolder folder;
    TrainingJob job = sixty_steps();
    job.checkpoint_folder = folder.path();
    job.steps = 2;
    const auto saved = trainer_of(job);
    losses_of(*saved, 2);
    ASSERT_TRUE(saved->save());
    const auto done = trainer_of(job);
    ASSERT_TRUE(done->resume(folder.path()));
    EXPECT_EQ(done->steps_done(), job.steps);
    job.steps = 3;
    job.seed = 4;
    EXPECT_NE(trainer_of(job)->resume(folder.path()).error().what.find("job.seed is 3 there"),
              std::string::npos);
}

TEST(Train, SavesAtTheIntervalAndAtTheEnd) {
    const TestFolder folder;
    TrainingJob job = sixty_steps();
    job.steps = 5;
    job.eval_steps = 0;
    job.log_interval = 100;
    job.checkpoint_folder = folder / "run";
    job.checkpoint_interval = 2;
    std::string lines;
    const auto trainer = trainer_of(job);
    ASSERT_TRUE(train(*trainer, plan_of_eight(), job, {[&](const std::string& line) {
        lines += line.substr(0, 29) + "\n";
    }}));
    EXPECT_EQ(lines,
              " saved checkpoint step-000002\n saved checkpoint step-000004\n"
              " iteration        5/       5 \n saved checkpoint step-000005\n");
    job.steps = 6;
    const auto resumed = trainer_of(job);
    ASSERT_TRUE(resumed->resume(folder / "run/step-000004"));
    lines.clear();
    ASSERT_TRUE(train(*resumed, plan_of_eight(), job, {[&](const std::string& line) {
        lines += line.substr(0, 29) + "\n";
    }}));
    EXPECT_EQ(lines, " iteration        6/       6 \n saved checkpoint step-000006\n");
}

TEST(Train, StopsWhereACheckpointCannotBeWritten) {
    const TestFolder folder;
    write_text(folder / "file", "");
    TrainingJob job = sixty_steps();
    job.steps = 3;
    job.checkpoint_folder = folder / "file/run";
    job.checkpoint_interval = 1;
    const auto trainer = trainer_of(job);
    const auto done = train(*trainer, plan_of_eight(), job, {[](const std::string&) {}});
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().where.find("file/run"), std::string::npos);
    EXPECT_EQ(trainer->steps_done(), 1);
}

}  // namespace
}  // namespace orrery
