// SPDX-License-Identifier: Apache-2.0
// `orrery train` with processes learns a text: its held-out loss falls below the bigram conditional
// entropy H(next byte | byte) of the text, so it knows more than which byte follows which. The same
// in every layout.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string_view>
#include <vector>

#include "tests/program/run_program.h"

namespace orrery {
namespace {

// Sentences of words of which each follows four others: the same text whatever is in this
// repository, since how much rounding grows in a training depends on its text.
std::string sentences(std::size_t bytes) {
    constexpr std::array<std::string_view, 24> kWords{
        "rank",  "stage", "gathers", "sends", "every", "tensor", "after", "before",
        "the",   "last",  "first",   "waits", "for",   "its",    "turn",  "of",
        "reads", "one",   "kernel",  "while", "links", "carry",  "small", "messages"};
    std::mt19937 random{7};
    std::string text;
    for (std::size_t word = 0; text.size() < bytes;) {
        text += kWords[word];
        const auto drawn = static_cast<std::size_t>(random());
        text += drawn / 4 % 9 == 0 ? ".\n" : " ";
        word = (5 * word + 1 + 3 * (drawn % 4)) % kWords.size();
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
    const TestFolder folder;
    const std::string text = sentences(300'000);
    write_text(folder.path() / "text", text);
    write_text(folder.path() / "s.yaml",
               "cluster: {nodes: 1, node: cpu-4-cores}\n"
               "model: {num_layers: 4, hidden_size: 64, num_attention_heads: 4, seq_length: 64,\n"
               "        vocab_size: 256}\n"
               "plan: {micro_batch_size: 8, global_batch_size: 16, precision: fp32,\n"
               "       tensor_model_parallel_size: 2, sequence_parallel: true}\n"
               "job: {steps: 80, eval_steps: 20, dataset: text, seed: 1, learning_rate: 6.0e-3,\n"
               "      min_learning_rate: 5.0e-4, warmup_steps: 15, log_interval: 40}\n");
    struct Losses {
        double first = 0;  // mean of the first 40 steps
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
