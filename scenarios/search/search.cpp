// SPDX-License-Identifier: Apache-2.0
#include "scenarios/search/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <tuple>

#include "kernels/efficiency_table.h"
#include "scenarios/catalogue.h"
#include "scenarios/search/cluster_costs.h"
#include "scenarios/search/empty_space.h"
#include "scenarios/search/plan_goodput.h"
#include "scenarios/search/plan_timer.h"
#include "scenarios/search/search_outcome.h"
#include "scenarios/simulate/simulate_scenario.h"

namespace orrery {
namespace {

// The tables that every plan's kernels are costed by.
struct Costs {
    EfficiencyTable curves;
    EfficiencyTable step;
};

Result<Costs> read_costs() {
    const auto read = [](const char* file) {
        return read_efficiency_table((default_catalogue() / file).string());
    };
    auto curves = read("kernel_efficiency.csv");
    auto step = read("step_efficiency.csv");
    if (!curves || !step) {
        return tl::unexpected((curves ? step : curves).error().front());
    }
    return Costs{std::move(*curves), std::move(*step)};
}

// A plan that folds (plan_timer.h) costs no more than this share of a simulation.
constexpr double kFoldedEffort = 0.01;

// Who competes: plans of all clusters for `keep` places, or those of one cluster for the first.
struct Contest {
    std::optional<std::size_t> cluster{};
    std::size_t keep = 1;

    bool has(const Candidate& c) const { return !cluster || c.cluster == *cluster; }
};

class Search {
public:
    Search(const Scenario& scenario,
           const SearchSpec& spec,
           const std::function<void(const SearchProgress&)>& progress)
        : scenario_(scenario), spec_(spec), progress_(progress), score_(spec, scenario) {}

    Result<SearchResult> run();

private:
    Result<void> enumerate();
    Result<void> enumerate(std::size_t cluster);
    void consider(PlanPoint point, std::size_t cluster, PlanBound& bound);
    Result<void> explore_all();
    Result<void> explore_each_cluster(double limit, double share);
    Result<void> explore(const Contest& contest, double limit);
    Result<void> analytic_round(const Contest& contest, double limit);
    Result<void> network_round(const Contest& contest, double limit);
    Result<void> explore_front();
    Result<void> time_analytic(Candidate& candidate);
    Result<void> simulate_analytic(Candidate& candidate);
    void take_analytic(Candidate& candidate, Time step);
    bool breaks_limit(Time step, const ClusterVariant& on);
    void too_large(Bytes memory, const ClusterVariant& on);
    double most_effort() const { return static_cast<double>(spec_.simulations); }
    Result<void> simulate_network(Candidate& candidate);
    Result<void> find_goodput(Candidate& candidate) const;
    Scenario scenario_of(const Candidate& candidate) const;
    const ClusterVariant& cluster_of(const Candidate& c) const { return spec_.clusters[c.cluster]; }
    double score(const Candidate& c, Time step) const { return score_.of(step, cluster_of(c)); }
    double threshold(const Contest& contest) const;
    void say(double bound);
    Result<void> complain_if_empty() const;

    const Scenario& scenario_;
    const SearchSpec& spec_;
    const std::function<void(const SearchProgress&)>& progress_;
    Score score_;
    Costs costs_;
    std::vector<std::unique_ptr<ClusterCosts>> cluster_costs_;  // by cluster
    std::vector<std::unique_ptr<PlanTimer>> timers_;
    std::vector<Candidate> candidates_;  // by ascending guesses, once enumerated
    double effort_ = 0;                  // in simulations without contention
    double best_analytic_ = 0;           // objective, 0 while there is none
    SearchResult result_;
};

void Search::too_large(Bytes memory, const ClusterVariant& on) {
    LeftOut& out = result_.left_out;
    ++out.memory;
    out.least_memory = std::min(
        out.least_memory,
        static_cast<double>(memory.count()) / static_cast<double>(on.device.memory.count()));
}

bool Search::breaks_limit(Time step, const ClusterVariant& on) {
    LeftOut& out = result_.left_out;
    const Limit limit = score_.broken_limit(step, on);
    if (limit == Limit::deadline) {
        ++out.deadline;
        out.least_days = std::min(out.least_days, score_.days(step));
    } else if (limit == Limit::budget) {
        ++out.budget;
        out.least_money = std::min(out.least_money, score_.money(step, on) * spec_.tokens);
    }
    return limit != Limit::none;
}

void Search::consider(PlanPoint point, std::size_t cluster, PlanBound& bound) {
    ++result_.candidates;
    if (point.split == StageSplit::balanced) {
        point.plan.pipeline_layout = bound.balanced(point.plan);
        const bool even =
            std::ranges::adjacent_find(point.plan.pipeline_layout, std::ranges::not_equal_to{}) ==
            point.plan.pipeline_layout.end();
        if (even) {
            ++result_.left_out.same_plan;
            return;
        }
    }
    Candidate candidate{.plan = std::move(point.plan), .cluster = cluster};
    candidate.bound = bound.of(candidate.plan);
    const ClusterVariant& on = cluster_of(candidate);
    if (candidate.bound.memory > on.device.memory) {
        return too_large(candidate.bound.memory, on);
    }
    if (breaks_limit(candidate.bound.time, on)) {
        return;
    }
    candidate.objective_bound = score(candidate, candidate.bound.time);
    candidate.guess = score(candidate, candidate.bound.guess);
    candidates_.push_back(std::move(candidate));
}

Result<void> Search::enumerate(std::size_t cluster) {
    const ClusterSpec& spec = spec_.clusters[cluster].cluster;
    const DeviceSpec& device = spec_.clusters[cluster].device;
    auto made = ClusterCosts::make(spec, device, costs_.curves, costs_.step);
    if (!made) {
        return tl::unexpected(made.error());
    }
    const ClusterCosts& costs = *cluster_costs_.emplace_back(std::move(*made));
    timers_.push_back(std::make_unique<PlanTimer>(
        scenario_.model,
        costs.network(),
        [&costs](const Program& program) { return costs.slowest_device(program); },
        [&costs](const ParallelPlan& plan) { return costs.launch_cost(plan); },
        costs.restart()));
    PlanBound bound{scenario_.model, costs.network(), [&costs](const Program& program) {
                        return costs.mean_device(program);
                    }};
    result_.points += for_each_plan(
        spec_.space,
        scenario_.model,
        scenario_.plan,
        spec.num_gpus(),
        spec.node.gpus_per_node,
        [&](PlanPoint point) { consider(std::move(point), cluster, bound); },
        result_.left_out.rules);
    return {};
}

Result<void> Search::enumerate() {
    Result<Costs> costs = read_costs();
    if (!costs) {
        return tl::unexpected(costs.error());
    }
    costs_ = std::move(*costs);
    for (std::size_t cluster = 0; cluster < spec_.clusters.size(); ++cluster) {
        if (const Result<void> done = enumerate(cluster); !done) {
            return done;
        }
    }
    std::stable_sort(
        candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
            return std::pair{a.guess, a.objective_bound} < std::pair{b.guess, b.objective_bound};
        });
    // The scenario's own plan comes first: nothing worse shall be recommended.
    const auto own = std::ranges::find_if(candidates_, [&](const Candidate& c) {
        return c.cluster == 0 && c.plan == scenario_.plan;
    });
    if (own != candidates_.end()) {
        std::rotate(candidates_.begin(), own, own + 1);
    }
    return {};
}

Scenario Search::scenario_of(const Candidate& candidate) const {
    Scenario scenario = scenario_;
    scenario.cluster = cluster_of(candidate).cluster;
    scenario.device = cluster_of(candidate).device;
    scenario.plan = candidate.plan;
    return scenario;
}

// The step's time alone, if the plan folds: whether it fits into memory shows when it is simulated
// on the scenario's network.
Result<void> Search::time_analytic(Candidate& candidate) {
    const auto step = timers_[candidate.cluster]->step_of(candidate.plan);
    if (!step) {
        return simulate_analytic(candidate);
    }
    effort_ += kFoldedEffort;
    ++result_.simulated_analytic;
    candidate.tried = true;
    take_analytic(candidate, *step);
    return {};
}

void Search::take_analytic(Candidate& candidate, Time step) {
    if (breaks_limit(step, cluster_of(candidate))) {
        return;
    }
    candidate.analytic = score(candidate, step);
    best_analytic_ =
        best_analytic_ == 0 ? *candidate.analytic : std::min(best_analytic_, *candidate.analytic);
}

Result<void> Search::simulate_analytic(Candidate& candidate) {
    Scenario scenario = scenario_of(candidate);
    scenario.network = NetworkFidelity::analytic;
    const Result<Answer> answer = simulate_scenario(scenario, {.only_if_fits = true});
    if (!answer) {
        return tl::unexpected(answer.error());
    }
    effort_ += 1;
    ++result_.simulated_analytic;
    candidate.tried = true;
    candidate.memory = answer->memory.peak;
    if (!answer->memory.fits) {
        too_large(candidate.memory, cluster_of(candidate));
        return {};
    }
    take_analytic(candidate, answer->iteration);
    if (candidate.analytic && scenario_.network == NetworkFidelity::analytic) {
        candidate.answer = *answer;
        ++result_.simulated;
        return find_goodput(candidate);
    }
    return {};
}

Result<void> Search::simulate_network(Candidate& candidate) {
    const Result<Answer> answer = simulate_scenario(scenario_of(candidate), {.only_if_fits = true});
    if (!answer) {
        return tl::unexpected(answer.error());
    }
    ++result_.simulated;
    candidate.memory = answer->memory.peak;
    if (!answer->memory.fits) {
        too_large(candidate.memory, cluster_of(candidate));
        candidate.analytic.reset();
        return {};
    }
    if (breaks_limit(answer->iteration, cluster_of(candidate))) {
        candidate.analytic.reset();  // contention makes it too long
        return {};
    }
    candidate.answer = *answer;
    return find_goodput(candidate);
}

Result<void> Search::find_goodput(Candidate& candidate) const {
    if (spec_.objective != Objective::goodput) {
        return {};
    }
    const Result<double> goodput =
        plan_goodput(scenario_of(candidate), candidate.answer->iteration, spec_.seeds);
    if (!goodput) {
        return tl::unexpected(goodput.error());
    }
    candidate.goodput = *goodput;
    return {};
}

// Objective of the last plan that would be kept; infinite while there are fewer. Plans that differ
// in nothing that shows count once.
double Search::threshold(const Contest& contest) const {
    std::set<std::tuple<double, Bytes, std::size_t>> known;
    for (const Candidate& c : candidates_) {
        if (c.answer && contest.has(c)) {
            known.emplace(c.objective(score_, spec_), c.memory, c.cluster);
        }
    }
    return known.size() < contest.keep
               ? std::numeric_limits<double>::infinity()
               : std::get<0>(
                     *std::next(known.begin(), static_cast<std::ptrdiff_t>(contest.keep) - 1));
}

void Search::say(double bound) {
    if (!progress_) {
        return;
    }
    progress_({.simulated = result_.simulated_analytic, .best = best_analytic_, .bound = bound});
}

// Simulates without contention, in the order of the guesses, what may still be among the best: what
// has a bound below the threshold, or while nothing is known of the network, below the last kept.
Result<void> Search::analytic_round(const Contest& contest, double limit) {
    // Contention makes a step longer: what is found on the network lets more plans compete.
    const double known = threshold(contest);
    std::vector<double> best;  // the `keep` least, ascending
    for (const Candidate& c : candidates_) {
        if (c.analytic && contest.has(c)) {
            best.push_back(*c.analytic);
        }
    }
    std::ranges::sort(best);
    for (Candidate& candidate : candidates_) {
        const double worst = std::isfinite(known)          ? known
                             : best.size() >= contest.keep ? best[contest.keep - 1]
                                                           : known;
        if (candidate.tried || !contest.has(candidate) || candidate.objective_bound >= worst) {
            continue;
        }
        if (effort_ >= limit) {
            return {};
        }
        say(candidate.objective_bound);
        if (const Result<void> done = time_analytic(candidate); !done) {
            return done;
        }
        if (candidate.analytic) {
            best.insert(std::ranges::upper_bound(best, *candidate.analytic), *candidate.analytic);
            best.resize(std::min(best.size(), contest.keep));
        }
    }
    return {};
}

// Simulates on the network, the fastest without contention first, until the rest can't be kept.
// Among the plans of one cluster that is an effort, too.
Result<void> Search::network_round(const Contest& contest, double limit) {
    std::vector<Candidate*> open;
    for (Candidate& c : candidates_) {
        if (c.analytic && !c.answer && contest.has(c)) {
            open.push_back(&c);
        }
    }
    std::ranges::stable_sort(
        open, {}, [](const Candidate* candidate) { return *candidate->analytic; });
    for (Candidate* candidate : open) {
        if (*candidate->analytic >= threshold(contest) || (contest.cluster && effort_ >= limit)) {
            return {};
        }
        if (const Result<void> done = simulate_network(*candidate); !done) {
            return done;
        }
        effort_ += contest.cluster ? 1 : 0;
    }
    return {};
}

// Until nothing is left that could win, or the effort has reached the limit.
Result<void> Search::explore(const Contest& contest, double limit) {
    for (;;) {
        const std::int64_t before = result_.simulated_analytic + result_.simulated;
        // Of a cluster's share half is for the network.
        const double analytic_limit = contest.cluster ? (effort_ + limit) / 2 : limit;
        if (const Result<void> done = analytic_round(contest, analytic_limit); !done) {
            return done;
        }
        if (const Result<void> done = network_round(contest, limit); !done) {
            return done;
        }
        if (result_.simulated_analytic + result_.simulated == before) {
            return {};
        }
    }
}

// The best plan of each cluster, with at most `share` of the effort each.
Result<void> Search::explore_each_cluster(double limit, double share) {
    for (std::size_t cluster = 0; cluster < spec_.clusters.size(); ++cluster) {
        const double mine = std::min(effort_ + share, limit);
        if (const Result<void> done = explore({.cluster = cluster}, mine); !done) {
            return done;
        }
    }
    return {};
}

Result<void> Search::explore_all() {
    const bool several = spec_.clusters.size() > 1;
    const double half = most_effort() / 2;
    const auto share = half / static_cast<double>(spec_.clusters.size());
    if (const Result<void> done = several ? explore_each_cluster(half, share) : Result<void>{};
        !done) {
        return done;
    }
    const Contest all{.keep = static_cast<std::size_t>(spec_.keep)};
    if (const Result<void> done = explore(all, most_effort()); !done) {
        return done;
    }
    // What is left shows that nothing beats the best plan of each.
    return several ? explore_each_cluster(most_effort(), most_effort()) : Result<void>{};
}

// Plans that need less memory than all that are as fast by their bounds.
Result<void> Search::explore_front() {
    constexpr int kMost = 24;
    Bytes least = Bytes{std::numeric_limits<std::int64_t>::max()};
    for (const Candidate& c : candidates_) {
        if (c.analytic && c.memory > Bytes{}) {
            least = std::min(least, c.memory);
        }
    }
    int simulated = 0;
    for (Candidate& c : candidates_) {
        if (c.tried || c.bound.memory >= least) {
            continue;
        }
        if (++simulated > kMost || effort_ >= most_effort()) {
            return {};
        }
        if (const Result<void> done = simulate_analytic(c); !done) {
            return done;
        }
        if (c.analytic && c.memory < least) {
            least = c.memory;
            if (const Result<void> done = simulate_network(c); !done) {
                return done;
            }
        }
    }
    return {};
}

Result<void> Search::complain_if_empty() const {
    EmptySpace space{.points = result_.points,
                     .simulated = result_.simulated_analytic,
                     .left_out = result_.left_out};
    for (const Candidate& c : candidates_) {
        if (c.answer) {
            return {};
        }
        space.left_out.ran_out += c.tried && !c.analytic ? 0 : 1;
    }
    return tl::unexpected(why_space_is_empty(space, spec_));
}

Result<SearchResult> Search::run() {
    if (spec_.objective == Objective::goodput && scenario_.faults.processes.empty()) {
        return fail("search.objective",
                    "goodput needs faults, and the scenario has none",
                    "add a section faults, e.g. faults: [{catalogue: llama-3-405b}]");
    }
    if (const Result<void> done = enumerate(); !done) {
        return tl::unexpected(done.error());
    }
    if (const Result<void> done = explore_all(); !done) {
        return tl::unexpected(done.error());
    }
    if (const Result<void> done = explore_front(); !done) {
        return tl::unexpected(done.error());
    }
    if (const Result<void> done = complain_if_empty(); !done) {
        return tl::unexpected(done.error());
    }
    collect_outcome(candidates_, score_, spec_, result_);
    return std::move(result_);
}

}  // namespace

Result<SearchResult> search_plans(const Scenario& scenario,
                                  const SearchSpec& spec,
                                  const std::function<void(const SearchProgress&)>& progress) {
    return Search{scenario, spec, progress}.run();
}

}  // namespace orrery
