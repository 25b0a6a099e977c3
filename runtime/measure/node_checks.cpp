// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/node_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <numeric>

#include "engine/base/statistics.h"
#include "kernels/tensor_view.h"
#include "runtime/communication/communicator.h"

namespace orrery {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kChecks = 0xFF'FFF0;  // ids of communicators that no Program has
constexpr std::uint64_t kPairTag = 0xC0FFEE;

double seconds_of(const std::function<Result<void>()>& work, Result<void>& done) {
    const auto begin = Clock::now();
    done = work();
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Sums that depend on each other, so that no compiler removes them and no cache helps. Half a
// millisecond, less than a scheduler's time slice.
void compute_for() {
    volatile double kept = 1;
    double x = kept;
    for (int i = 0; i < 200'000; ++i) {
        x = x * 0.999999 + 2e-6;
    }
    kept = x;
    static_cast<void>(kept);
}

class Checker {
public:
    Checker(Transport& transport, const NodeCheckOptions& options)
        : transport_(transport),
          options_(options),
          n_(transport.num_ranks()),
          rank_(transport.rank()),
          buffer_(static_cast<std::size_t>(options.bytes), std::byte{1}),
          other_(buffer_) {
        std::vector<std::uint32_t> all(n_);
        std::iota(all.begin(), all.end(), 0u);
        everybody_.emplace_back(transport, std::move(all), kChecks);
    }

    Result<NodeChecks> run() {
        NodeChecks checks;
        checks.num_ranks = n_;
        Result<void> done = everybody_.front().barrier();
        std::vector<float> own(3 + n_, 0.0f);
        own[0] = static_cast<float>(best([this] { return work_for(); }));
        own[1] = static_cast<float>(static_cast<double>(options_.bytes) /
                                    best([this] { return copy_for(); }));
        done = done ? pairs(own) : done;
        done = done ? neighbours(own) : done;
        done = done ? all_to_all(checks) : done;
        if (!done) {
            return unexpected<Error>(done.error());
        }
        return gather(own, std::move(checks));
    }

private:
    // The best of many tries: on a busy machine several consecutive tries may fall into a time in
    // which this process waits for a core.
    double best(const std::function<double()>& once) const {
        constexpr std::chrono::milliseconds kLeast{60};
        const Clock::time_point until = Clock::now() + kLeast;
        double least = once();
        for (int i = 1; i < options_.repeats || Clock::now() < until; ++i) {
            least = std::min(least, once());
        }
        return least;
    }
    double work_for() {
        const auto begin = Clock::now();
        compute_for();
        if (options_.after_work) {
            options_.after_work(
                std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin));
        }
        return std::chrono::duration<double>(Clock::now() - begin).count();
    }
    double copy_for() {
        const auto begin = Clock::now();
        std::memcpy(other_.data(), buffer_.data(), buffer_.size());
        return std::max(1e-9, std::chrono::duration<double>(Clock::now() - begin).count());
    }

    // In round r of a tournament of n (or n + 1) players, a and b meet if a + b = r mod n'.
    std::uint32_t partner(std::uint32_t round) const {
        // For an even number the last player is fixed
        const std::uint32_t odd = n_ % 2 == 0 ? n_ - 1 : n_;
        if (n_ % 2 == 0 && rank_ == n_ - 1) {
            for (std::uint32_t p = 0; p < odd; ++p) {
                if (2 * p % odd == round) {
                    return p;
                }
            }
        }
        const std::uint32_t other = (round + odd - rank_) % odd;
        return other == rank_ && n_ % 2 == 0 ? n_ - 1 : other;
    }

    Result<void> pairs(std::vector<float>& own) {
        const std::uint32_t rounds = n_ < 2 ? 0 : n_ % 2 == 0 ? n_ - 1 : n_;
        for (std::uint32_t round = 0; round < rounds; ++round) {
            const std::uint32_t peer = partner(round);
            if (Result<void> met = everybody_.front().barrier(); !met) {
                return met;
            }
            if (peer == rank_) {
                continue;  // has no partner in this round
            }
            double least = 0;
            for (int i = 0; i < options_.repeats; ++i) {
                const Message messages[] = {
                    {.is_send = true, .peer = peer, .tag = kPairTag, .bytes = buffer_},
                    {.is_send = false, .peer = peer, .tag = kPairTag, .bytes = other_}};
                Result<void> done;
                const double took = seconds_of([&] { return transport_.exchange(messages); }, done);
                if (!done) {
                    return done;
                }
                least = i == 0 ? took : std::min(least, took);
            }
            own[3 + peer] = static_cast<float>(static_cast<double>(options_.bytes) / least);
        }
        return {};
    }

    // Tests each pair of neighbours: even ranks with the next one, then odd ones.
    Result<void> neighbours(std::vector<float>& own) {
        std::vector<float> vector(buffer_.size() / sizeof(float));
        for (std::uint32_t first = 0; n_ > 1 && first < n_; ++first) {
            if (Result<void> met = everybody_.front().barrier(); !met) {
                return met;
            }
            const std::uint32_t next = (first + 1) % n_;
            if (rank_ != first && rank_ != next) {
                continue;
            }
            Communicator two{
                transport_, {std::min(first, next), std::max(first, next)}, kChecks + 1};
            Result<void> done;
            double least = 0;
            for (int i = 0; i < options_.repeats; ++i) {
                const double took =
                    seconds_of([&] { return two.all_reduce(view_of(vector)); }, done);
                if (!done) {
                    return done;
                }
                least = i == 0 ? took : std::min(least, took);
            }
            own[2] = rank_ == first ? static_cast<float>(least) : own[2];
        }
        return {};
    }

    Result<void> all_to_all(NodeChecks& checks) {
        const std::int64_t part = std::max<std::int64_t>(1, options_.bytes / 4 / n_);
        std::vector<float> in(static_cast<std::size_t>(part * n_));
        std::vector<float> out(in.size());
        Result<void> done = everybody_.front().barrier();
        if (done) {
            checks.all_to_all_s = seconds_of(
                [&] { return everybody_.front().all_to_all(view_of(in), view_of(out)); }, done);
        }
        return done;
    }

    Result<NodeChecks> gather(std::vector<float>& own, NodeChecks checks) {
        std::vector<float> all(own.size() * n_);
        if (Result<void> done = everybody_.front().all_gather(view_of(own), view_of(all)); !done) {
            return unexpected<Error>(done.error());
        }
        checks.pair_rate.assign(std::size_t{n_} * n_, 0);
        for (std::size_t r = 0; r < n_; ++r) {
            const float* of = all.data() + r * own.size();
            checks.compute_s.push_back(static_cast<double>(of[0]));
            checks.memory_rate.push_back(static_cast<double>(of[1]));
            checks.neighbours_s.push_back(static_cast<double>(of[2]));
            for (std::size_t peer = 0; peer < n_; ++peer) {
                checks.pair_rate[r * n_ + peer] = static_cast<double>(of[3 + peer]);
            }
        }
        return checks;
    }

    Transport& transport_;
    const NodeCheckOptions& options_;
    std::uint32_t n_;
    std::uint32_t rank_;
    std::vector<std::byte> buffer_;
    std::vector<std::byte> other_;
    std::vector<Communicator> everybody_;  // one
};

// A pair is as fast as its slower side. A rank is therefore judged by its best connection.
std::vector<double> best_connections(const NodeChecks& checks) {
    std::vector<double> best;
    for (std::size_t a = 0; a < checks.num_ranks; ++a) {
        double most = 0;
        for (std::size_t b = 0; b < checks.num_ranks; ++b) {
            most = std::max({most,
                             checks.pair_rate[a * checks.num_ranks + b],
                             checks.pair_rate[b * checks.num_ranks + a]});
        }
        best.push_back(most);
    }
    return best;
}

}  // namespace

Result<NodeChecks> check_nodes(Transport& transport, const NodeCheckOptions& options) {
    return Checker{transport, options}.run();
}

std::vector<Suspect> suspects(const NodeChecks& checks, const SuspectLimits& limits) {
    std::vector<Suspect> found;
    const double compute = nearest_rank_of(checks.compute_s, 50);
    const double memory = nearest_rank_of(checks.memory_rate, 50);
    const std::vector<double> best = best_connections(checks);
    const double rate = nearest_rank_of(best, 50);
    for (std::uint32_t r = 0; r < checks.num_ranks; ++r) {
        if (compute > 0 && checks.compute_s[r] > limits.compute * compute) {
            found.push_back({r,
                             fmt::format("it computes {:.2f} times as long as the median",
                                         checks.compute_s[r] / compute)});
        }
        if (memory > 0 && checks.memory_rate[r] < limits.bandwidth * memory) {
            found.push_back({r,
                             fmt::format("its memory has {:.2f} of the median bandwidth",
                                         checks.memory_rate[r] / memory)});
        }
        if (checks.num_ranks > 2 && rate > 0 && best[r] < limits.bandwidth * rate) {
            found.push_back({r,
                             fmt::format("its best connection has {:.2f} of the median bandwidth",
                                         best[r] / rate)});
        }
    }
    return found;
}

}  // namespace orrery
