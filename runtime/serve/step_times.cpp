// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/step_times.h"

#include <Eigen/Dense>
#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>

#include "engine/base/check.h"
#include "runtime/generate.h"

namespace orrery {
namespace {

constexpr std::size_t kRounds = 5;
constexpr int kInARow = 4;  // runs in a row, the first of them without its time
// A longer step is run once a round: what ran before it and what disturbs it is a small part of it.
constexpr double kLongStep_s = 0.005;

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
        for (const std::int64_t seen : {std::int64_t{0}, longest / 4, longest / 2, longest - 1}) {
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

// Sequences have distinct blocks if there are enough: context beyond the CPU's caches costs more.
// The contents of the blocks do not matter.
std::vector<DecodeChunk> chunks_of(const StepSize& size,
                                   const SchedulerLimits& limits,
                                   std::int64_t adapters) {
    const std::int64_t tokens = size.context + size.new_tokens;
    const std::int64_t of_chunk = (tokens + limits.block_size - 1) / limits.block_size;
    std::vector<DecodeChunk> chunks;
    std::int64_t next = 0;
    for (std::int64_t i = 0; i < size.chunks; ++i) {
        DecodeChunk& chunk = chunks.emplace_back();
        chunk.tokens.resize(static_cast<std::size_t>(size.new_tokens));
        chunk.context = size.context;
        chunk.samples = size.samples;
        chunk.adapter = adapters > 0 ? static_cast<std::int32_t>(i % adapters) : -1;
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

// The time of one run, including the greedy draws.
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

using RelativeSizes = Eigen::MatrixXd;  // each row divided by its seconds

// Least squares; removes the most negative factor until none is negative.
MeasuredStepCost::Sizes positive_factors(const RelativeSizes& all) {
    std::vector<Eigen::Index> used(MeasuredStepCost::kSizes);
    std::iota(used.begin(), used.end(), Eigen::Index{0});
    MeasuredStepCost::Sizes factors{};
    while (!used.empty()) {
        const Eigen::MatrixXd a = all(Eigen::all, used);
        const Eigen::VectorXd x = a.colPivHouseholderQr().solve(Eigen::VectorXd::Ones(a.rows()));
        Eigen::Index worst = 0;
        if (x.minCoeff(&worst) >= 0 || used.size() == 1) {
            for (std::size_t i = 0; i < used.size(); ++i) {
                factors[static_cast<std::size_t>(used[i])] =
                    std::max(0.0, x(static_cast<Eigen::Index>(i)));
            }
            break;
        }
        used.erase(used.begin() + worst);
    }
    return factors;
}

}  // namespace

MeasuredStepCost::Sizes sizes_of(const Batch& batch, double held_tokens) {
    MeasuredStepCost::Sizes sizes{1};
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
    sizes[7] = std::max(0.0, sizes[6] - held_tokens);
    return sizes;
}

MeasuredStepCost::Fit fit_step_times(std::span<const Batch> batches,
                                     std::span<const double> seconds) {
    ORRERY_CHECK(batches.size() == seconds.size() && !batches.empty());
    constexpr double kFewest = 64;
    constexpr double kMost = 1 << 20;
    MeasuredStepCost::Fit best;
    double least = std::numeric_limits<double>::infinity();
    for (double held = kFewest; held <= kMost; held *= 2) {
        RelativeSizes a(std::ssize(batches), MeasuredStepCost::kSizes);
        for (std::size_t row = 0; row < batches.size(); ++row) {
            const MeasuredStepCost::Sizes sizes = sizes_of(batches[row], held);
            for (std::size_t column = 0; column < sizes.size(); ++column) {
                a(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(column)) =
                    sizes[column] / seconds[row];
            }
        }
        const MeasuredStepCost::Sizes factors = positive_factors(a);
        const Eigen::Map<const Eigen::VectorXd> x{factors.data(), std::ssize(factors)};
        const double error = (a * x - Eigen::VectorXd::Ones(a.rows())).squaredNorm();
        if (error < least) {
            least = error;
            best = {.seconds = factors, .held_tokens = held};
        }
    }
    return best;
}

Result<MeasuredStepCost> MeasuredStepCost::measure(DecodeStep& step,
                                                   const SchedulerLimits& limits,
                                                   std::int64_t context,
                                                   std::int64_t adapters) {
    // A server's step usually follows one of nearly the same shape, which determines the contents
    // of the CPU's caches.
    const std::vector<StepSize> all = probes(limits, context);
    std::vector<std::vector<double>> times(all.size());
    for (std::size_t round = 0; round < kRounds; ++round) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::vector<DecodeChunk> chunks = chunks_of(all[i], limits, adapters);
            for (int number = 0; number < kInARow; ++number) {
                const auto time = measured_seconds(step, chunks);
                if (!time) {
                    return unexpected<Error>(time.error());
                }
                const bool is_long = *time > kLongStep_s;
                if (number > 0 || is_long) {
                    times[i].push_back(*time);
                }
                if (is_long) {
                    break;
                }
            }
        }
    }
    std::vector<Batch> batches;
    std::vector<double> seconds;
    for (std::size_t i = 0; i < all.size(); ++i) {
        batches.push_back(batch_of(all[i]));
        const auto middle = times[i].begin() + std::ssize(times[i]) / 2;
        std::nth_element(times[i].begin(), middle, times[i].end());
        seconds.push_back(*middle);
    }
    return MeasuredStepCost{fit_step_times(batches, seconds)};
}

double MeasuredStepCost::seconds_of(const Batch& batch) const {
    const Sizes sizes = sizes_of(batch, fit_.held_tokens);
    return fit_.slower * std::inner_product(sizes.begin(), sizes.end(), fit_.seconds.begin(), 0.0);
}

void MeasuredStepCost::times(const Batch& batch, std::vector<Time>& stages) {
    stages.front() = Time::seconds(seconds_of(batch));
}

Time MeasuredStepCost::after_idling(std::int64_t steps) const {
    const auto number = static_cast<std::size_t>(steps);
    return number < kWakingSteps ? Time::seconds(fit_.waking_s[number]) : Time{};
}

}  // namespace orrery
