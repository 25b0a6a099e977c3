// SPDX-License-Identifier: Apache-2.0
#include "scenarios/search/search.h"

#include <algorithm>
#include <array>
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
#include "scenarios/search/score.h"
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

struct Candidate {
    ParallelPlan plan;
    std::size_t cluster = 0;
    Bound bound;
    double objective_bound = 0;
    double guess = 0;    // of the objective
    bool tried = false;  // simulated without contention, or found not to fit
    // Once simulated without contention, and on the scenario's network.
    std::optional<double> analytic;
    std::optional<Answer> answer;
    double goodput = 1;  // of its campaign, where that counts
    Bytes memory;        // peak, once simulated; 0 while only the step has been timed
};

// A plan that folds (plan_timer.h) costs no more than this share of a simulation.
constexpr double kFoldedEffort = 0.01;

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
    Result<void> explore();
    Result<void> analytic_round(double threshold);
    Result<void> network_round();
    Result<void> explore_front();
    Result<void> time_analytic(Candidate& candidate);
    Result<void> simulate_analytic(Candidate& candidate);
    void take_analytic(Candidate& candidate, Time step);
    bool may_go_on() const { return effort_ < static_cast<double>(spec_.simulations); }
    Result<void> simulate_network(Candidate& candidate);
    Result<void> find_goodput(Candidate& candidate) const;
    Scenario scenario_of(const Candidate& candidate) const;
    const ClusterVariant& cluster_of(const Candidate& c) const { return spec_.clusters[c.cluster]; }
    double score(const Candidate& c, Time step) const { return score_.of(step, cluster_of(c)); }
    // Of a plan that was simulated on the network. No campaign is better than one without faults,
    // so the bounds of the step hold.
    double score(const Candidate& c) const { return score(c, c.answer->iteration) / c.goodput; }
    double threshold() const;
    void say(double bound);
    Result<void> complain_if_empty() const;
    void collect();
    void collect_front(const std::vector<const Candidate*>& known);
    FoundPlan found(const Candidate& candidate) const;

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

void Search::consider(PlanPoint point, std::size_t cluster, PlanBound& bound) {
    ++result_.candidates;
    if (point.split == StageSplit::balanced) {
        point.plan.pipeline_layout = bound.balanced(point.plan);
        const bool even =
            std::ranges::adjacent_find(point.plan.pipeline_layout, std::ranges::not_equal_to{}) ==
            point.plan.pipeline_layout.end();
        if (even) {
            ++result_.pruned["same plan"];
            return;
        }
    }
    Candidate candidate{.plan = std::move(point.plan), .cluster = cluster};
    candidate.bound = bound.of(candidate.plan);
    if (candidate.bound.memory > cluster_of(candidate).device.memory) {
        ++result_.pruned["memory"];
        return;
    }
    if (const std::string why = score_.refusal(candidate.bound.time, cluster_of(candidate));
        !why.empty()) {
        ++result_.pruned[why];
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
        result_.pruned);
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
    if (const std::string why = score_.refusal(step, cluster_of(candidate)); !why.empty()) {
        ++result_.pruned[why];
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
        ++result_.pruned["memory"];
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
        ++result_.pruned["memory"];
        candidate.analytic.reset();
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
double Search::threshold() const {
    std::set<std::tuple<double, Bytes, std::size_t>> known;
    for (const Candidate& c : candidates_) {
        if (c.answer) {
            known.emplace(score(c), c.memory, c.cluster);
        }
    }
    const auto keep = static_cast<std::size_t>(spec_.keep);
    return known.size() < keep ? std::numeric_limits<double>::infinity()
                               : std::get<0>(*std::next(known.begin(), spec_.keep - 1));
}

void Search::say(double bound) {
    if (!progress_) {
        return;
    }
    progress_({.simulated = result_.simulated_analytic, .best = best_analytic_, .bound = bound});
}

// Simulates without contention, in the order of the guesses, what may still be among the best: what
// has a bound below the threshold, or while nothing is known of the network, below the last kept.
Result<void> Search::analytic_round(double threshold) {
    std::vector<double> best;  // a heap of the `keep` least
    const auto keep = static_cast<std::size_t>(spec_.keep);
    for (const Candidate& c : candidates_) {
        if (c.analytic) {
            best.push_back(*c.analytic);
        }
    }
    std::ranges::sort(best);
    for (Candidate& candidate : candidates_) {
        const double worst = std::isfinite(threshold) ? threshold
                             : best.size() >= keep    ? best[keep - 1]
                                                      : threshold;
        if (candidate.tried || candidate.objective_bound >= worst) {
            continue;
        }
        if (!may_go_on()) {
            return {};
        }
        say(candidate.objective_bound);
        if (const Result<void> done = time_analytic(candidate); !done) {
            return done;
        }
        if (candidate.analytic) {
            best.insert(std::ranges::upper_bound(best, *candidate.analytic), *candidate.analytic);
            best.resize(std::min(best.size(), keep));
        }
    }
    return {};
}

// Simulates on the network, the fastest without contention first, until the rest can't be kept.
Result<void> Search::network_round() {
    std::vector<Candidate*> open;
    for (Candidate& c : candidates_) {
        if (c.analytic && !c.answer) {
            open.push_back(&c);
        }
    }
    std::ranges::stable_sort(
        open, {}, [](const Candidate* candidate) { return *candidate->analytic; });
    for (Candidate* candidate : open) {
        if (*candidate->analytic >= threshold()) {
            return {};
        }
        if (const Result<void> done = simulate_network(*candidate); !done) {
            return done;
        }
    }
    return {};
}

Result<void> Search::explore() {
    for (;;) {
        const std::int64_t before = result_.simulated_analytic + result_.simulated;
        // Contention makes a step longer: what is found on the network lets more plans compete.
        if (const Result<void> done = analytic_round(threshold()); !done) {
            return done;
        }
        if (const Result<void> done = network_round(); !done) {
            return done;
        }
        if (result_.simulated_analytic + result_.simulated == before) {
            return {};
        }
    }
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
        if (++simulated > kMost || !may_go_on()) {
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
    const bool any =
        std::ranges::any_of(candidates_, [](const Candidate& c) { return c.answer.has_value(); });
    return any ? Result<void>{}
               : tl::unexpected(why_space_is_empty(result_.points, result_.pruned));
}

FoundPlan Search::found(const Candidate& c) const {
    return {.plan = c.plan,
            .cluster = c.cluster,
            .objective = score(c),
            .bound = c.objective_bound,
            .goodput = c.goodput,
            .answer = *c.answer};
}

void Search::collect_front(const std::vector<const Candidate*>& known) {
    const auto beats = [&](const Candidate& a, const Candidate& b) {
        const auto values = [&](const Candidate& c) {
            return std::array{c.answer->iteration.seconds(),
                              static_cast<double>(c.memory.count()),
                              score_.money(c.answer->iteration, cluster_of(c))};
        };
        const auto x = values(a);
        const auto y = values(b);
        bool less = false;
        for (std::size_t i = 0; i < x.size(); ++i) {
            if (x[i] > y[i]) {
                return false;
            }
            less = less || x[i] < y[i];
        }
        return less;
    };
    for (const Candidate* c : known) {
        if (std::ranges::none_of(known, [&](const Candidate* o) { return beats(*o, *c); })) {
            result_.pareto.push_back(found(*c));
        }
    }
}

void Search::collect() {
    std::vector<const Candidate*> known;
    for (const Candidate& c : candidates_) {
        if (c.answer) {
            known.push_back(&c);
        }
    }
    const auto shown = [&](const Candidate* c) {
        return std::tuple{score(*c), c->memory, c->cluster};
    };
    std::ranges::stable_sort(known, {}, shown);
    // Of plans that differ in nothing that shows, the first.
    const auto alike = [&](const auto* a, const auto* b) { return shown(a) == shown(b); };
    const auto same = std::unique(known.begin(), known.end(), alike);
    result_.equal = known.end() - same;
    known.erase(same, known.end());
    const auto keep = std::min(known.size(), static_cast<std::size_t>(spec_.keep));
    for (std::size_t i = 0; i < keep; ++i) {
        result_.best.push_back(found(*known[i]));
    }
    collect_front(known);
    const double best = result_.best.front().objective;
    for (const Candidate& c : candidates_) {
        if (c.answer || (c.tried && !c.analytic)) {
            continue;  // known, or does not fit
        }
        const double bound = c.analytic.value_or(c.objective_bound);
        result_.bound_gap = std::max(result_.bound_gap, (best - bound) / best);
        ++result_.pruned[bound >= best ? c.analytic ? "slower without contention" : "bound"
                         : c.analytic  ? "not simulated on the network"
                                       : "simulations ran out"];
    }
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
    if (const Result<void> done = explore(); !done) {
        return tl::unexpected(done.error());
    }
    if (const Result<void> done = explore_front(); !done) {
        return tl::unexpected(done.error());
    }
    if (const Result<void> done = complain_if_empty(); !done) {
        return tl::unexpected(done.error());
    }
    collect();
    return std::move(result_);
}

}  // namespace

Result<SearchResult> search_plans(const Scenario& scenario,
                                  const SearchSpec& spec,
                                  const std::function<void(const SearchProgress&)>& progress) {
    return Search{scenario, spec, progress}.run();
}

}  // namespace orrery
