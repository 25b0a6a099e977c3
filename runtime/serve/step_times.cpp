// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/step_times.h"

#include <Eigen/Dense>
#include <algorithm>
#include <chrono>
#include <numeric>

#include "engine/check.h"
#include "runtime/generate.h"

namespace orrery {
namespace {

constexpr std::size_t kRounds = 15;

// Rows that the CPU's products compute at once (kernels/gemm/gemm_cpu.cpp: kTileRows).
constexpr std::int64_t kRowsOfTile = 6;

double tiles(std::int64_t rows) {
    return static_cast<double>((rows + kRowsOfTile - 1) / kRowsOfTile * kRowsOfTile);
}

std::vector<StepSize> probes(const SchedulerLimits& limits, std::int64_t context) {
    std::vector<StepSize> sizes;
    const std::int64_t cache = limits.num_blocks * limits.block_size;
    const std::int64_t longest = std::min(context, cache);
    const std::int64_t most = std::min(limits.max_num_seqs, limits.max_num_batched_tokens);
    for (std::int64_t chunks = 1; chunks <= most; chunks *= 2) {
        for (const std::int64_t seen : {std::int64_t{0}, longest / 2, longest - 1}) {
            sizes.push_back({.chunks = chunks, .new_tokens = 1, .context = seen});
        }
    }
    const std::int64_t prompt = std::min(longest, limits.max_num_batched_tokens);
    for (std::int64_t tokens = 2; tokens <= prompt; tokens *= 2) {
        sizes.push_back({.new_tokens = tokens, .samples = tokens % 3 == 1});
        sizes.push_back({.new_tokens = tokens, .context = longest - tokens});
        if (2 * tokens <= limits.max_num_batched_tokens && limits.max_num_seqs > 1) {
            const std::int64_t chunks =
                std::min(limits.max_num_seqs, limits.max_num_batched_tokens / tokens);
            sizes.push_back({.chunks = chunks, .new_tokens = tokens});
        }
    }
    return sizes;
}

// Sequences have blocks of their own as far as there are any: what caches of the CPU do not hold
// costs more. What is in the blocks does not matter.
std::vector<DecodeChunk> chunks_of(const StepSize& size, const SchedulerLimits& limits) {
    const std::int64_t tokens = size.context + size.new_tokens;
    const std::int64_t of_chunk = (tokens + limits.block_size - 1) / limits.block_size;
    std::vector<DecodeChunk> chunks;
    std::int64_t next = 0;
    for (std::int64_t i = 0; i < size.chunks; ++i) {
        DecodeChunk& chunk = chunks.emplace_back();
        chunk.tokens.resize(static_cast<std::size_t>(size.new_tokens));
        chunk.context = size.context;
        chunk.samples = size.samples;
        next = next + of_chunk > limits.num_blocks ? 0 : next;
        for (std::int64_t block = 0; block < of_chunk; ++block) {
            chunk.blocks.push_back(static_cast<KvBlock>(1 + next++));
        }
    }
    return chunks;
}

Batch batch_of(const StepSize& size) {
    Batch batch;
    batch.steps.resize(
        static_cast<std::size_t>(size.chunks),
        {.new_tokens = size.new_tokens, .context = size.context, .samples = size.samples});
    return batch;
}

// Of one run, draws of greedy tokens included.
Result<double> measured_seconds(DecodeStep& step, const std::vector<DecodeChunk>& chunks) {
    using Clock = std::chrono::steady_clock;
    std::vector<float> logits;
    const auto begin = Clock::now();
    if (const Result<void> done = step.run(chunks, logits); !done) {
        return unexpected<Error>(done.error());
    }
    const std::size_t samples = chunks.front().samples ? chunks.size() : 0;
    for (std::size_t row = 0; row < samples; ++row) {
        const std::size_t width = logits.size() / samples;
        draw_token({logits.data() + row * width, width}, {.temperature = 0}, 0);
    }
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

MeasuredStepCost::Sizes sizes_of(const Batch& batch) {
    MeasuredStepCost::Sizes sizes{1, 0, 0, 0, 0, 0, 0};
    std::int64_t tokens = 0;
    for (const SequenceStep& step : batch.steps) {
        const std::int64_t all = step.context + step.new_tokens;
        tokens += step.new_tokens;
        sizes[3] += step.samples ? 1 : 0;
        sizes[4] += 1;
        sizes[5] += tiles(step.new_tokens) * static_cast<double>(all);
        sizes[6] += static_cast<double>(all);
    }
    sizes[1] = static_cast<double>(tokens);
    sizes[2] = tiles(tokens);
    return sizes;
}

// Least squares; the most negative factor leaves until none is negative.
MeasuredStepCost::Sizes fit_step_times(std::span<const MeasuredStepCost::Sizes> sizes,
                                       std::span<const double> seconds) {
    ORRERY_CHECK(sizes.size() == seconds.size() && !sizes.empty());
    std::vector<std::size_t> used(MeasuredStepCost::kSizes);
    std::iota(used.begin(), used.end(), std::size_t{0});
    MeasuredStepCost::Sizes factors{};
    while (!used.empty()) {
        Eigen::MatrixXd a(std::ssize(sizes), std::ssize(used));
        for (std::size_t row = 0; row < sizes.size(); ++row) {
            for (std::size_t column = 0; column < used.size(); ++column) {
                a(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(column)) =
                    sizes[row][used[column]] / seconds[row];
            }
        }
        const Eigen::VectorXd x =
            a.colPivHouseholderQr().solve(Eigen::VectorXd::Ones(std::ssize(sizes)));
        Eigen::Index worst = 0;
        if (x.minCoeff(&worst) >= 0 || used.size() == 1) {
            for (std::size_t column = 0; column < used.size(); ++column) {
                factors[used[column]] = std::max(0.0, x(static_cast<Eigen::Index>(column)));
            }
            break;
        }
        used.erase(used.begin() + worst);
    }
    return factors;
}

Result<MeasuredStepCost> MeasuredStepCost::measure(DecodeStep& step,
                                                   const SchedulerLimits& limits,
                                                   std::int64_t context) {
    // The median over rounds, so that a step finds the caches as another one left them.
    const std::vector<StepSize> all = probes(limits, context);
    std::vector<std::vector<double>> rounds(all.size());
    for (std::size_t round = 0; round < kRounds; ++round) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto time = measured_seconds(step, chunks_of(all[i], limits));
            if (!time) {
                return unexpected<Error>(time.error());
            }
            rounds[i].push_back(*time);
        }
    }
    std::vector<Sizes> sizes;
    std::vector<double> seconds;
    for (std::size_t i = 0; i < all.size(); ++i) {
        sizes.push_back(sizes_of(batch_of(all[i])));
        std::nth_element(rounds[i].begin(), rounds[i].begin() + kRounds / 2, rounds[i].end());
        seconds.push_back(rounds[i][kRounds / 2]);
    }
    return MeasuredStepCost{fit_step_times(sizes, seconds)};
}

void MeasuredStepCost::times(const Batch& batch, std::vector<Time>& stages) {
    const Sizes sizes = sizes_of(batch);
    double seconds = 0;
    for (std::size_t i = 0; i < kSizes; ++i) {
        seconds += sizes[i] * seconds_[i];
    }
    stages.front() = Time::seconds(seconds);
}

}  // namespace orrery
