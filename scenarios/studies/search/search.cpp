// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include "scenarios/studies/search/cluster_costs.h"
#include "scenarios/studies/search/empty_space.h"
#include "scenarios/studies/search/plan_trials.h"
#include "scenarios/studies/search/search_outcome.h"

namespace orrery {
namespace {

// A plan that folds (plan_timer.h) costs no more than this share of a simulation.
constexpr double kFoldedEffort = 0.01;

// The plans of all clusters compete for `keep` places, or the plans of one cluster for one place.
struct Contest {
    std::optional<std::size_t> cluster{};
    std::size_t keep = 1;

    bool has(const Candidate& c) const { return !cluster || c.cluster == *cluster; }
};

class Search {
public:
    Search(const Scenario& scenario, const SearchSpec& spec, const SearchOptions& options)
        : scenario_(scenario), spec_(spec), options_(options), score_(spec, scenario) {}

    Result<SearchResult> run();

private:
    Result<void> enumerate();
    Result<void> enumerate(std::size_t cluster);
    Result<void> explore_all();
    Result<void> explore_each_cluster(double limit, double share);
    Result<void> explore(const Contest& contest, double limit);
    struct Ahead;
    void time_ahead(std::span<Ahead> open, double worst);
    void simulate_ahead(std::span<Ahead> open, double worst, double limit);
    Result<void> analytic_round(const Contest& contest, double limit);
    Result<void> network_round(const Contest& contest, double limit);
    Result<void> explore_front();
    // Record the result of a candidate's trial. Trials are recorded in the order of their turns.
    void take_folded(Candidate& candidate, Time step);
    Result<void> take_analytic(Candidate& candidate, PlanTrials::Trial trial);
    Result<void> take_network(Candidate& candidate, PlanTrials::Trial trial);
    void take_step(Candidate& candidate, Time step);
    bool too_long(Time step, const ClusterVariant& on) {
        return breaks_limit(step, on, score_, spec_, result_.left_out);
    }
    double most_effort() const { return static_cast<double>(spec_.simulations); }
    const ClusterVariant& cluster_of(const Candidate& c) const { return spec_.clusters[c.cluster]; }
    double score(const Candidate& c, Time step) const { return score_.of(step, cluster_of(c)); }
    double threshold(const Contest& contest) const;
    bool any_known() const {
        return std::ranges::any_of(candidates_, [](const auto& c) { return c.answer.has_value(); });
    }
    // Whether the network has simulated a candidate, or may still do so.
    bool any_open() const {
        return std::ranges::any_of(candidates_,
                                   [](const auto& c) { return c.analytic.has_value(); });
    }
    void say(double bound);
    bool stopped();
    Result<void> complain_if_empty() const;

    const Scenario& scenario_;
    const SearchSpec& spec_;
    const SearchOptions& options_;
    Score score_;
    CostTables costs_;
    std::vector<std::unique_ptr<ClusterCosts>> cluster_costs_;  // by cluster
    std::optional<PlanTrials> trials_;
    std::vector<Candidate> candidates_;  // by ascending guesses, once enumerated
    double effort_ = 0;                  // in simulations without contention
    double best_analytic_ = 0;           // objective, 0 while there is none
    SearchResult result_;
};

Result<void> Search::enumerate(std::size_t cluster) {
    const ClusterSpec& spec = spec_.clusters[cluster].cluster;
    const DeviceSpec& device = spec_.clusters[cluster].device;
    auto made = ClusterCosts::make(
        spec, device, costs_.curves, costs_.step, spec_.clusters[cluster].devices);
    if (!made) {
        return tl::unexpected(made.error());
    }
    const ClusterCosts& costs = *cluster_costs_.emplace_back(std::move(*made));
    Candidates found = candidates_on(
        scenario_, spec_, cluster, costs, score_, options_.jobs, [this] { return stopped(); });
    result_.points += found.points;
    result_.candidates += found.admitted;
    result_.left_out += found.left_out;
    std::ranges::move(found.plans, std::back_inserter(candidates_));
    return {};
}

Result<void> Search::enumerate() {
    Result<CostTables> costs = CostTables::read();
    if (!costs) {
        return tl::unexpected(costs.error());
    }
    costs_ = std::move(*costs);
    costs_.step = options_.step_table.value_or(std::move(costs_.step));
    for (std::size_t cluster = 0; cluster < spec_.clusters.size() && !result_.interrupted;
         ++cluster) {
        if (const Result<void> done = enumerate(cluster); !done) {
            return done;
        }
    }
    result_.listed = !result_.interrupted;
    trials_.emplace(scenario_, spec_, cluster_costs_, options_.jobs, options_.step_table);
    std::stable_sort(
        candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
            return std::pair{a.guess, a.objective_bound} < std::pair{b.guess, b.objective_bound};
        });
    // The scenario's own plan comes first, so that no worse plan is recommended.
    const auto own = std::ranges::find_if(candidates_, [&](const Candidate& c) {
        return c.cluster == 0 && c.plan == scenario_.plan;
    });
    if (own != candidates_.end()) {
        std::rotate(candidates_.begin(), own, own + 1);
    }
    return {};
}

// Only the step's time is known. The simulation on the scenario's network shows whether the plan
// fits into memory.
void Search::take_folded(Candidate& candidate, Time step) {
    effort_ += kFoldedEffort;
    ++result_.simulated_analytic;
    candidate.tried = true;
    take_step(candidate, step);
}

void Search::take_step(Candidate& candidate, Time step) {
    if (too_long(step, cluster_of(candidate))) {
        return;
    }
    candidate.analytic = score(candidate, step);
    best_analytic_ =
        best_analytic_ == 0 ? *candidate.analytic : std::min(best_analytic_, *candidate.analytic);
}

Result<void> Search::take_analytic(Candidate& candidate, PlanTrials::Trial trial) {
    if (!trial.answer) {
        return tl::unexpected(trial.answer.error());
    }
    effort_ += 1;
    ++result_.simulated_analytic;
    candidate.tried = true;
    candidate.memory = trial.answer->memory.peak;
    if (!trial.answer->memory.fits) {
        count_too_large(
            trial.answer->memory.needed(), cluster_of(candidate), result_.left_out);
        return {};
    }
    take_step(candidate, trial.answer->iteration);
    if (candidate.analytic && scenario_.network == NetworkFidelity::analytic) {
        candidate.answer = std::move(*trial.answer);
        candidate.goodput = trial.goodput;
        ++result_.simulated;
    }
    return {};
}

Result<void> Search::take_network(Candidate& candidate, PlanTrials::Trial trial) {
    if (!trial.answer) {
        return tl::unexpected(trial.answer.error());
    }
    ++result_.simulated;
    candidate.memory = trial.answer->memory.peak;
    if (!trial.answer->memory.fits) {
        count_too_large(
            trial.answer->memory.needed(), cluster_of(candidate), result_.left_out);
        candidate.analytic.reset();
        return {};
    }
    if (too_long(trial.answer->iteration, cluster_of(candidate))) {
        candidate.analytic.reset();  // contention makes it too long
        return {};
    }
    candidate.answer = std::move(*trial.answer);
    candidate.goodput = trial.goodput;
    return {};
}

// The objective that a plan has to beat to be kept; infinite while there are fewer than `keep`
// plans. Plans of equal objective, memory and cluster count once.
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
    if (options_.progress) {
        options_.progress(
            {.simulated = result_.simulated_analytic, .best = best_analytic_, .bound = bound});
    }
}

bool Search::stopped() {
    result_.interrupted = result_.interrupted || (options_.stop && options_.stop());
    return result_.interrupted;
}

// A plan that analytic_round times or simulates before its turn.
struct Search::Ahead {
    Candidate* candidate;
    bool timed = false;
    std::optional<Time> folded{};  // its step, if it folds
    std::unique_ptr<PlanTrials::Trial> trial{};
};

// Times the first plan, and the plans behind it that could still be kept.
void Search::time_ahead(std::span<Ahead> open, double worst) {
    std::vector<Ahead*> wanted;
    std::vector<const Candidate*> plans;
    for (Ahead& one : open) {
        if (plans.size() < trials_->timed_together() && !one.timed &&
            one.candidate->objective_bound < worst) {
            wanted.push_back(&one);
            plans.push_back(one.candidate);
        }
    }
    const auto steps = trials_->folded_steps(plans);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        wanted[i]->timed = true;
        wanted[i]->folded = steps[i];
    }
}

// Simulates the first plan, and the timed plans behind it that do not fold either.
void Search::simulate_ahead(std::span<Ahead> open, double worst, double limit) {
    const auto most = std::min(trials_->simulated_together(),
                               static_cast<std::size_t>(std::ceil(limit - effort_)));
    std::vector<Ahead*> wanted;
    std::vector<const Candidate*> plans;
    for (Ahead& one : open) {
        if (plans.size() == most || !one.timed) {
            break;
        }
        if (!one.folded && !one.trial && one.candidate->objective_bound < worst) {
            wanted.push_back(&one);
            plans.push_back(one.candidate);
        }
    }
    auto trials = trials_->simulate(plans, NetworkFidelity::analytic);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        wanted[i]->trial = std::make_unique<PlanTrials::Trial>(std::move(trials[i]));
    }
}

// Simulates plans without contention, in the order of their guesses, while their bounds lie below
// the threshold. Before the first result on the network the last kept time is the threshold. Plans
// are timed before their turn; a plan whose turn does not come is dropped.
Result<void> Search::analytic_round(const Contest& contest, double limit) {
    // Contention makes a step longer, so results on the network let more plans compete.
    const double known = threshold(contest);
    std::vector<double> best;  // the `keep` least, ascending
    std::vector<Ahead> open;
    for (Candidate& c : candidates_) {
        if (c.analytic && contest.has(c)) {
            best.push_back(*c.analytic);
        } else if (!c.tried && contest.has(c) && c.objective_bound < known) {
            open.push_back({.candidate = &c});
        }
    }
    std::ranges::sort(best);
    for (std::size_t i = 0; i < open.size(); ++i) {
        Candidate& candidate = *open[i].candidate;
        const double worst = std::isfinite(known)          ? known
                             : best.size() >= contest.keep ? best[contest.keep - 1]
                                                           : known;
        if (candidate.objective_bound >= worst) {
            continue;
        }
        if (effort_ >= limit || (stopped() && any_open())) {
            return {};
        }
        say(candidate.objective_bound);
        const std::span from_here = std::span{open}.subspan(i);
        if (!open[i].timed) {
            time_ahead(from_here, worst);
        }
        if (!open[i].folded && !open[i].trial) {
            simulate_ahead(from_here, worst, limit);
        }
        if (open[i].folded) {
            take_folded(candidate, *open[i].folded);
        } else if (const auto done = take_analytic(candidate, std::move(*open[i].trial)); !done) {
            return done;
        }
        if (candidate.analytic) {
            best.insert(std::ranges::upper_bound(best, *candidate.analytic), *candidate.analytic);
            best.resize(std::min(best.size(), contest.keep));
        }
    }
    return {};
}

// Simulates plans on the network, the fastest without contention first, until no further one can be
// kept. In the contest of one cluster the effort is limited, too.
Result<void> Search::network_round(const Contest& contest, double limit) {
    std::vector<Candidate*> open;
    for (Candidate& c : candidates_) {
        if (c.analytic && !c.answer && contest.has(c)) {
            open.push_back(&c);
        }
    }
    std::ranges::stable_sort(
        open, {}, [](const Candidate* candidate) { return *candidate->analytic; });
    std::vector<PlanTrials::Trial> ahead;
    std::size_t taken = 0;  // of `ahead`
    for (std::size_t i = 0; i < open.size(); ++i) {
        const double worst = threshold(contest);
        if (*open[i]->analytic >= worst || (contest.cluster && effort_ >= limit) ||
            (stopped() && any_known())) {
            return {};
        }
        if (taken == ahead.size()) {
            std::vector<const Candidate*> plans;
            for (std::size_t k = i; k < open.size() && *open[k]->analytic < worst &&
                                    plans.size() < trials_->simulated_together();
                 ++k) {
                plans.push_back(open[k]);
            }
            ahead = trials_->simulate(plans, scenario_.network);
            taken = 0;
        }
        if (const auto done = take_network(*open[i], std::move(ahead[taken++])); !done) {
            return done;
        }
        effort_ += contest.cluster ? 1 : 0;
    }
    return {};
}

// Ends when no plan is left that could win, or when the effort has reached the limit.
Result<void> Search::explore(const Contest& contest, double limit) {
    for (;;) {
        const std::int64_t before = result_.simulated_analytic + result_.simulated;
        // Half of a cluster's share is for the network.
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

// Finds the best plan of each cluster, with an effort of at most `share` for each.
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
    // The rest of the effort proves that no plan beats the best one of each cluster.
    return several ? explore_each_cluster(most_effort(), most_effort()) : Result<void>{};
}

// Simulates untried plans whose bound on memory lies below the memory of every simulated plan.
Result<void> Search::explore_front() {
    constexpr int kMost = 24;
    Bytes least = Bytes{std::numeric_limits<std::int64_t>::max()};
    for (const Candidate& c : candidates_) {
        if (c.analytic && c.memory > Bytes{}) {
            least = std::min(least, c.memory);
        }
    }
    std::map<const Candidate*, PlanTrials::Trial> ahead;
    int simulated = 0;
    for (auto c = candidates_.begin(); c != candidates_.end(); ++c) {
        if (c->tried || c->bound.memory >= least) {
            continue;
        }
        if (++simulated > kMost || effort_ >= most_effort() || stopped()) {
            return {};
        }
        if (!ahead.contains(&*c)) {
            std::vector<const Candidate*> plans;
            for (auto k = c; k != candidates_.end() && plans.size() < trials_->simulated_together();
                 ++k) {
                if (!k->tried && k->bound.memory < least && !ahead.contains(&*k)) {
                    plans.push_back(&*k);
                }
            }
            auto trials = trials_->simulate(plans, NetworkFidelity::analytic);
            for (std::size_t n = 0; n < plans.size(); ++n) {
                ahead.emplace(plans[n], std::move(trials[n]));
            }
        }
        if (const auto done = take_analytic(*c, std::move(ahead.at(&*c))); !done) {
            return done;
        }
        if (c->analytic && c->memory < least) {
            least = c->memory;
            if (c->answer) {
                continue;
            }
            const Candidate* const plan = &*c;
            auto trial = trials_->simulate({&plan, 1}, scenario_.network);
            if (const auto done = take_network(*c, std::move(trial.front())); !done) {
                return done;
            }
        }
    }
    return {};
}

Result<void> Search::complain_if_empty() const {
    if (any_known()) {
        return {};
    }
    EmptySpace space{.points = result_.points,
                     .simulated = result_.simulated_analytic,
                     .left_out = result_.left_out};
    for (const Candidate& c : candidates_) {
        space.left_out.ran_out += c.tried && !c.analytic ? 0 : 1;
    }
    return result_.interrupted ? fail("",
                                      "interrupted before a plan was found",
                                      "give it more time, or vary less in the section search")
                               : tl::unexpected(why_space_is_empty(space, spec_));
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
                                  const SearchOptions& options) {
    return Search{scenario, spec, options}.run();
}

}  // namespace orrery
