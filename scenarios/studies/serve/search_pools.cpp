// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/search_pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "engine/base/parallel.h"
#include "scenarios/studies/serve/highest_rate.h"

namespace orrery {

namespace {

// Number of candidates tried side by side, for any number of threads. The rate that they must
// exceed comes from the waves before.
constexpr std::size_t kWave = 8;
constexpr std::int64_t kCounts = 8;  // numbers of prompt instances in the first waves

struct Sizes {
    std::int64_t tensor = 1;
    std::int64_t pipeline = 1;
    bool operator==(const Sizes&) const = default;
};

// Pools of these sizes. Without `generation` one pool does both.
struct PoolCounts {
    Sizes prompts;
    std::optional<Sizes> generation{};
    std::int64_t prompt_instances = 0;  // in a common pool: as many as fit
    bool operator==(const PoolCounts&) const = default;
};

class PoolSearcher {
public:
    PoolSearcher(const Scenario& scenario,
                 const std::vector<Request>& requests,
                 std::uint32_t jobs,
                 const std::function<void(double)>& progress)
        : scenario_(scenario),
          spec_(scenario.serving),
          search_(scenario.pool_search),
          requests_(requests),
          jobs_(jobs),
          progress_(progress) {}

    Result<PoolSearchResult> run() {
        const std::vector<PoolCounts> first = candidates();
        for (std::size_t begin = 0; begin < first.size(); begin += kWave) {
            const std::size_t end = std::min(first.size(), begin + kWave);
            try_all({first.begin() + static_cast<std::ptrdiff_t>(begin),
                     first.begin() + static_cast<std::ptrdiff_t>(end)});
            progress_(static_cast<double>(end) / static_cast<double>(first.size()));
        }
        for (std::vector<PoolCounts> next = nearer(); !next.empty(); next = nearer()) {
            try_all(next);
        }
        if (result_.best.empty()) {
            return fail(scenario_.cluster_where,
                        first.empty() ? "no instance of these sizes fits on the cluster's GPUs"
                                      : fmt::format("none of {} pools meets the objectives: {}",
                                                    result_.tried,
                                                    result_.why_unfit),
                        "more nodes, larger objectives, or a smaller model");
        }
        return std::move(result_);
    }

private:
    const ServingPoolSpec& like(bool generation) const {
        return generation ? spec_.pools.back() : spec_.pools.front();
    }
    std::int64_t ranks(const Sizes& sizes, bool generation) const {
        const ServingPlan& plan = like(generation).plan;
        return sizes.tensor * sizes.pipeline * plan.data_parallel_size * plan.context_parallel_size;
    }
    // The check by which the reader accepts a scenario's sizes.
    bool are_possible(const Sizes& sizes, bool generation) const {
        const ServingPlan& plan = like(generation).plan;
        const std::int64_t of_stage = sizes.tensor * plan.data_parallel_size;
        return of_stage % plan.expert_model_parallel_size == 0 &&
               (sizes.pipeline == 1 || plan.context_parallel_size == 1);
    }
    std::int64_t gpus() const { return scenario_.cluster.num_ranks(); }

    std::vector<Sizes> sizes(bool generation) const {
        std::vector<std::int64_t> tensor = search_.tensor_model_parallel_size;
        if (tensor.empty()) {
            for (std::int64_t size = 1; size <= scenario_.cluster.gpus_per_server(); size *= 2) {
                tensor.push_back(size);
            }
        }
        std::vector<std::int64_t> pipeline = search_.pipeline_model_parallel_size;
        if (pipeline.empty()) {
            pipeline.push_back(like(generation).plan.pipeline_model_parallel_size);
        }
        std::vector<Sizes> all;
        for (const std::int64_t t : tensor) {
            for (const std::int64_t p : pipeline) {
                const Sizes one{.tensor = t, .pipeline = p};
                if (ranks(one, generation) <= gpus() && are_possible(one, generation)) {
                    all.push_back(one);
                }
            }
        }
        return all;
    }

    bool tries(PoolArrangement arrangement) const {
        return search_.arrangements.empty() ||
               std::ranges::find(search_.arrangements, arrangement) != search_.arrangements.end();
    }

    std::vector<PoolCounts> candidates() const {
        std::vector<PoolCounts> all;
        for (const Sizes& one : sizes(false)) {
            if (tries(PoolArrangement::aggregated)) {
                all.push_back({.prompts = one});
            }
        }
        // Only a common pool may have context-parallel ranks.
        const bool shares_context = std::ranges::any_of(spec_.pools, [](const auto& pool) {
            return pool.plan.context_parallel_size > 1;
        });
        if (!tries(PoolArrangement::disaggregated) || shares_context) {
            return all;
        }
        for (const Sizes& prompts : sizes(false)) {
            for (const Sizes& generation : sizes(true)) {
                // Room for at least one generating instance remains.
                const std::int64_t most =
                    (gpus() - ranks(generation, true)) / ranks(prompts, false);
                const std::int64_t counts = std::min(most, kCounts);
                for (std::int64_t i = 0; i < counts; ++i) {
                    all.push_back(
                        {.prompts = prompts,
                         .generation = generation,
                         .prompt_instances = counts == 1 ? 1 : 1 + i * (most - 1) / (counts - 1)});
                }
            }
        }
        return all;
    }

    std::vector<ServingPoolSpec> pools_of(const PoolCounts& candidate) const {
        const auto pool = [&](const Sizes& of, bool generation) {
            ServingPoolSpec one = like(generation);
            one.plan.tensor_model_parallel_size = of.tensor;
            one.plan.pipeline_model_parallel_size = of.pipeline;
            return one;
        };
        ServingPoolSpec prompts = pool(candidate.prompts, false);
        if (!candidate.generation) {
            prompts.role = PoolRole::aggregated;
            prompts.instances = gpus() / ranks(candidate.prompts, false);
            return {prompts};
        }
        ServingPoolSpec generation = pool(*candidate.generation, true);
        prompts.role = PoolRole::prefill;
        prompts.instances = candidate.prompt_instances;
        generation.role = PoolRole::decode;
        generation.instances = (gpus() - prompts.instances * ranks(candidate.prompts, false)) /
                               ranks(*candidate.generation, true);
        return {prompts, generation};
    }

    double score_of(const FoundPools& found) const {
        switch (search_.objective) {
            case PoolObjective::cost:
                return found.answer.cost_per_million_tokens;
            case PoolObjective::energy:
                return found.answer.kwh_per_million_tokens;
            case PoolObjective::rate:
                break;
        }
        return 1 / found.rate;
    }

    // The rate that a candidate must exceed to be kept; nothing while fewer than `keep` are found.
    std::optional<double> rate_to_reach() const {
        const bool full = std::ssize(result_.best) == search_.keep;
        return full && search_.objective == PoolObjective::rate
                   ? std::optional{result_.best.back().rate}
                   : std::nullopt;
    }

    struct Tried {
        std::optional<FoundPools> found;
        std::optional<Error> unfit;
    };
    Tried attempt(const PoolCounts& candidate, std::optional<double> least) const {
        ServingSpec spec = spec_;
        spec.pools = pools_of(candidate);
        Result<std::optional<HighestRate>> highest;
        if (least) {
            highest = find_higher_rate(scenario_, spec, requests_, spec.objectives, *least);
        } else {
            auto any = find_highest_rate(scenario_, spec, requests_, spec.objectives);
            highest = any ? Result<std::optional<HighestRate>>{std::move(*any)}
                          : tl::unexpected(any.error());
        }
        if (!highest) {
            return {.found = std::nullopt, .unfit = highest.error()};
        }
        if (!*highest) {
            return {};
        }
        FoundPools found{.pools = spec.pools,
                         .gpus = spec.num_gpus(),
                         .rate = (*highest)->rate,
                         .answer = std::move((*highest)->answer)};
        found.score = score_of(found);
        return {.found = std::move(found), .unfit = std::nullopt};
    }

    void try_all(const std::vector<PoolCounts>& candidates) {
        std::vector<Tried> tried(candidates.size());
        const std::optional<double> least = rate_to_reach();
        for_each_index(candidates.size(), jobs_, [&](std::size_t i) {
            tried[i] = attempt(candidates[i], least);
        });
        for (std::size_t i = 0; i < tried.size(); ++i) {
            ++result_.tried;
            tried_.push_back(candidates[i]);
            if (tried[i].unfit) {
                ++result_.unfit;
                if (result_.why_unfit.empty()) {
                    result_.why_unfit = tried[i].unfit->what;
                }
            } else if (!tried[i].found) {
                ++result_.worse;
            } else {
                keep(candidates[i], std::move(*tried[i].found));
            }
        }
    }

    // Inserts by score. Among equal scores the higher throughput comes first.
    void keep(const PoolCounts& candidate, FoundPools found) {
        const auto order = [](const FoundPools& one) {
            return std::pair{one.score, -one.answer.output_tokens_per_s};
        };
        const auto place = std::ranges::upper_bound(result_.best, order(found), {}, order);
        if (place == result_.best.begin()) {
            best_ = candidate;
        }
        result_.best.insert(place, std::move(found));
        if (std::ssize(result_.best) > search_.keep) {
            result_.best.pop_back();
            ++result_.worse;
        }
    }

    // Candidates between the best number of prompt instances and the nearest tried ones on both
    // sides.
    std::vector<PoolCounts> nearer() const {
        if (!best_ || !best_->generation) {
            return {};
        }
        std::int64_t below = 0;
        std::int64_t above =
            (gpus() - ranks(*best_->generation, true)) / ranks(best_->prompts, false) + 1;
        for (const PoolCounts& one : tried_) {
            if (one.prompts != best_->prompts || one.generation != best_->generation) {
                continue;
            }
            const std::int64_t count = one.prompt_instances;
            below = count < best_->prompt_instances ? std::max(below, count) : below;
            above = count > best_->prompt_instances ? std::min(above, count) : above;
        }
        std::vector<PoolCounts> next;
        for (const std::int64_t side : {below, above}) {
            const std::int64_t middle = (side + best_->prompt_instances) / 2;
            PoolCounts one = *best_;
            one.prompt_instances = middle;
            if (middle > 0 && std::ranges::find(tried_, one) == tried_.end()) {
                next.push_back(one);
            }
        }
        return next;
    }

    const Scenario& scenario_;
    const ServingSpec& spec_;
    const PoolSearch& search_;
    const std::vector<Request>& requests_;
    std::uint32_t jobs_;
    const std::function<void(double)>& progress_;
    PoolSearchResult result_;
    std::vector<PoolCounts> tried_;
    std::optional<PoolCounts> best_;
};

Result<void> check(const Scenario& scenario, const std::vector<Request>& requests) {
    const ServingSpec& spec = scenario.serving;
    const ServingObjectives& wanted = spec.objectives;
    if (std::max({wanted.ttft, wanted.tpot, wanted.e2e, wanted.tbt}) == Time{} &&
        !wanted.any_slowdown()) {
        return fail("serving.objectives",
                    "a search needs objectives: without them every rate is good",
                    "objectives: {ttft: 2 s, tpot: 50 ms}");
    }
    if (spec.has_chain()) {
        return fail("serving.pools.chain", "a search varies pools of equal instances", "none");
    }
    if (scenario.workload.request_rate <= 0 || requests.empty()) {
        return fail("workload.request_rate",
                    "a search needs arrivals whose rate it can change",
                    "request_rate: 10");
    }
    if (scenario.pool_search.objective == PoolObjective::cost && spec.price_per_gpu_hour <= 0) {
        return fail(
            "search.objective", "cost needs serving.price_per_gpu_hour", "price_per_gpu_hour: 2.5");
    }
    if (scenario.pool_search.objective == PoolObjective::energy && spec.busy_watts <= 0) {
        return fail("search.objective",
                    "energy needs serving.busy_watts and idle_watts",
                    "busy_watts: 1275");
    }
    return {};
}

}  // namespace

Result<PoolSearchResult> search_pools(const Scenario& scenario,
                                      const std::vector<Request>& requests,
                                      std::uint32_t jobs,
                                      const std::function<void(double)>& progress) {
    if (const auto right = check(scenario, requests); !right) {
        return tl::unexpected(right.error());
    }
    return PoolSearcher(scenario, requests, jobs, progress).run();
}

}  // namespace orrery
