// SPDX-License-Identifier: Apache-2.0
// `orrery train` with processes learns a real text, the headers of this repository: its held-out
// loss falls below the bigram conditional entropy H(next byte | byte) of the text, so it knows more
// than which byte follows which. The same in every layout. A longer form:
//   cat engine/*.h models/*.h > build/text
//   orrery train scenarios/train-tiny-cpu-8.yaml --nproc 8 --set job.dataset=$PWD/build/text
//     --set job.steps=2000
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <vector>

#include "tests/program/run_program.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

std::string headers() {
    std::vector<fs::path> files;
    for (const char* folder : {"engine", "kernels", "models", "network", "runtime"}) {
        for (const auto& entry : fs::directory_iterator{fs::path{ORRERY_SOURCE_DIR} / folder}) {
            if (entry.path().extension() == ".h") {
                files.push_back(entry.path());
            }
        }
    }
    std::ranges::sort(files);
    std::string text;
    for (const fs::path& file : files) {
        text += read_file(file);
    }
    return text;
}

// In nats, of how often which byte follows which in the whole text.
double bigram_conditional_entropy(const std::string& text) {
    std::vector<std::array<double, 256>> pairs(256);
    std::array<double, 256> firsts{};
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
        const auto first = static_cast<unsigned char>(text[i]);
        pairs[first][static_cast<unsigned char>(text[i + 1])] += 1;
        firsts[first] += 1;
    }
    double sum = 0;
    for (std::size_t a = 0; a < 256; ++a) {
        for (const double count : pairs[a]) {
            sum -= count > 0 ? count * std::log(count / firsts[a]) : 0.0;
        }
    }
    return sum / static_cast<double>(text.size() - 1);
}

TEST(BigramConditionalEntropy, IsThatOfKnownTexts) {
    EXPECT_DOUBLE_EQ(bigram_conditional_entropy("abababab"), 0);
    // After an a comes a or b, each twice; after a b always an a.
    EXPECT_NEAR(bigram_conditional_entropy("aabaaba"), 4 * std::log(2.0) / 6, 1e-12);
}

TEST(Learning, ProcessesInAnyLayoutLearnMoreThanWhichByteFollowsWhich) {
    const TemporaryFolder folder;
    const std::string text = headers();
    ASSERT_GT(text.size(), 200'000u);
    write_file(folder.path() / "text", text);
    write_file(folder.path() / "s.yaml",
               "cluster: {nodes: 1, node: cpu-4-cores}\n"
               "model: {num_layers: 4, hidden_size: 64, num_attention_heads: 4, seq_length: 64,\n"
               "        vocab_size: 256}\n"
               "plan: {micro_batch_size: 8, global_batch_size: 16, precision: fp32,\n"
               "       tensor_model_parallel_size: 2, sequence_parallel: true}\n"
               "job: {steps: 240, eval_steps: 40, dataset: text, seed: 1, learning_rate: 7.0e-3,\n"
               "      min_learning_rate: 5.0e-4, warmup_steps: 40, log_interval: 60}\n");
    struct Losses {
        double first = 0;  // mean of the first 60 steps
        double held_out = 0;
    };
    const auto losses = [&](const std::string& arguments) {
        const Ran ran =
            run_shell("exec '" ORRERY_PROGRAM "' train s.yaml " + arguments, folder.path(), 600);
        EXPECT_EQ(ran.status, 0) << ran.err;
        const auto number_after = [&](std::size_t at, const std::string& label) {
            EXPECT_NE(at, std::string::npos) << ran.out;
            return at == std::string::npos ? 0.0 : std::stod(ran.out.substr(at + label.size()));
        };
        const std::string first = "lm loss: ";
        const std::string held_out = "lm loss value: ";
        return Losses{.first = number_after(ran.out.find(first), first),
                      .held_out = number_after(ran.out.rfind(held_out), held_out)};
    };
    const Losses four = losses("--nproc 4 --set plan.context_parallel_size=2");
    const Losses eight = losses(
        "--nproc 8 --set cluster.node=cpu-8-cores --set plan.pipeline_model_parallel_size=2 "
        "--set plan.data_parallel_sharding_strategy=optim");
    EXPECT_LT(four.held_out, bigram_conditional_entropy(text));
    EXPECT_LT(eight.held_out, bigram_conditional_entropy(text));
    // Sums in another order are rounded otherwise, and training makes that grow.
    EXPECT_NEAR(eight.first, four.first, 1e-5 * four.first);
    EXPECT_NEAR(eight.held_out, four.held_out, 1e-2 * four.held_out);
}

}  // namespace
}  // namespace orrery
