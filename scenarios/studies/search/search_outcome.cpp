// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/search_outcome.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace orrery {
namespace {

class SearchOutcome {
public:
    SearchOutcome(const std::vector<Candidate>& candidates,
                  const Score& score,
                  const SearchSpec& spec,
                  SearchResult& result)
        : candidates_(candidates), score_(score), spec_(spec), result_(result) {}

    void collect();

private:
    using Known = std::vector<const Candidate*>;

    double objective(const Candidate& c) const { return c.objective(score_, spec_); }
    FoundPlan found(const Candidate& c) const;
    Known known_by_objective();
    void collect_front(const Known& known);
    void collect_clusters(const Known& known);
    void count_left_out();

    const std::vector<Candidate>& candidates_;
    const Score& score_;
    const SearchSpec& spec_;
    SearchResult& result_;
};

FoundPlan SearchOutcome::found(const Candidate& c) const {
    const ClusterVariant& on = spec_.clusters[c.cluster];
    // Time lost to faults lengthens the training and raises its cost.
    const Time step = Time::seconds(c.answer->iteration.seconds() / c.goodput);
    return {.plan = c.plan,
            .cluster = c.cluster,
            .objective = objective(c),
            .bound = c.objective_bound,
            .goodput = c.goodput,
            .days = score_.days(step),
            .money = score_.money(step, on),
            .joules = score_.joules(step, on),
            .answer = *c.answer};
}

// The best first. Of plans with equal results only the first.
SearchOutcome::Known SearchOutcome::known_by_objective() {
    Known known;
    for (const Candidate& c : candidates_) {
        if (c.answer) {
            known.push_back(&c);
        }
    }
    result_.fit = static_cast<std::int64_t>(known.size());
    const auto shown = [&](const Candidate* c) {
        return std::tuple{objective(*c), c->memory, c->cluster};
    };
    std::ranges::stable_sort(known, {}, shown);
    const auto alike = [&](const auto* a, const auto* b) { return shown(a) == shown(b); };
    const auto same = std::unique(known.begin(), known.end(), alike);
    result_.equal = known.end() - same;
    known.erase(same, known.end());
    return known;
}

void SearchOutcome::collect_front(const Known& known) {
    const auto beats = [&](const Candidate& a, const Candidate& b) {
        const auto values = [&](const Candidate& c) {
            return std::array{c.answer->iteration.seconds(),
                              static_cast<double>(c.memory.count()),
                              score_.money(c.answer->iteration, spec_.clusters[c.cluster])};
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

void SearchOutcome::collect_clusters(const Known& known) {
    result_.clusters.resize(spec_.clusters.size());
    for (const Candidate* c : known) {
        ClusterBest& best = result_.clusters[c->cluster];
        if (!best.plan) {
            best.plan = found(*c);
        }
    }
    for (const Candidate& c : candidates_) {
        ClusterBest& best = result_.clusters[c.cluster];
        if (c.answer || (c.tried && !c.analytic)) {
            continue;
        }
        const double bound = c.analytic.value_or(c.objective_bound);
        if (!best.plan) {
            ++best.unsimulated;
        } else if (bound < best.plan->objective) {
            ++best.unsimulated;
            best.bound_gap = std::max(best.bound_gap, 1 - bound / best.plan->objective);
        }
    }
}

void SearchOutcome::count_left_out() {
    const double best = result_.best.front().objective;
    for (const Candidate& c : candidates_) {
        if (c.answer || (c.tried && !c.analytic)) {
            continue;  // known, or does not fit
        }
        const double bound = c.analytic.value_or(c.objective_bound);
        result_.bound_gap = std::max(result_.bound_gap, (best - bound) / best);
        LeftOut& out = result_.left_out;
        ++(bound >= best         ? c.analytic ? out.slower : out.bound
           : c.analytic          ? out.not_on_network
           : result_.interrupted ? out.interrupted
                                 : out.ran_out);
    }
}

void SearchOutcome::collect() {
    const Known known = known_by_objective();
    const auto keep = std::min(known.size(), static_cast<std::size_t>(spec_.keep));
    for (std::size_t i = 0; i < keep; ++i) {
        result_.best.push_back(found(*known[i]));
    }
    collect_front(known);
    collect_clusters(known);
    count_left_out();
}

}  // namespace

void collect_outcome(const std::vector<Candidate>& candidates,
                     const Score& score,
                     const SearchSpec& spec,
                     SearchResult& result) {
    SearchOutcome{candidates, score, spec, result}.collect();
}

std::size_t equal_plans(const SearchResult& result) {
    return static_cast<std::size_t>(std::ranges::count_if(result.best, [&](const FoundPlan& plan) {
        return plan.objective <= (1 + kPlansDiffer) * result.best.front().objective;
    }));
}

}  // namespace orrery
