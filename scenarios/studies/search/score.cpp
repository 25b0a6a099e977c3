// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/score.h"

#include "models/plan/flops.h"
#include "scenarios/format/specs/node_devices.h"

namespace orrery {
namespace {

constexpr double kSecondsPerDay = 86'400;

double gpus(const ClusterVariant& on) {
    return static_cast<double>(on.cluster.num_ranks());
}

// Mean peak of a GPU.
double peak_of(const ClusterVariant& on, Dtype precision) {
    return mean_peak(on.cluster, on.device, on.devices, precision).per_second();
}

}  // namespace

Score::Score(const SearchSpec& spec, const Scenario& scenario) : spec_(spec), scenario_(scenario) {}

double Score::tokens_per_step() const {
    return static_cast<double>(scenario_.plan.global_batch_size * scenario_.model.seq_length);
}

double Score::money(Time step, const ClusterVariant& on) const {
    return step.seconds() / 3600 * gpus(on) * on.price_per_gpu_hour / tokens_per_step();
}

// A GPU draws the busy power at least as long as its share of the model takes at the device's peak.
double Score::joules(Time step, const ClusterVariant& on) const {
    const Flop work = model_flops(scenario_.model, scenario_.plan.global_batch_size).full_attention;
    const double busy = work.count() / peak_of(on, scenario_.plan.precision);
    return (gpus(on) * step.seconds() * on.idle_watts + busy * (on.busy_watts - on.idle_watts)) /
           tokens_per_step();
}

double Score::of(Time step, const ClusterVariant& on) const {
    switch (spec_.objective) {
        case Objective::mfu:
            return step.seconds() * gpus(on) * peak_of(on, scenario_.plan.precision);
        case Objective::cost:
            return money(step, on);
        case Objective::energy:
            return joules(step, on);
        case Objective::step_time:
        case Objective::goodput:  // at most 1; the search divides by it once it is known
            break;
    }
    return step.seconds();
}

double Score::days(Time step) const {
    return step.seconds() * (spec_.tokens / tokens_per_step()) / kSecondsPerDay;
}

Limit Score::broken_limit(Time step, const ClusterVariant& on) const {
    if (spec_.tokens <= 0) {
        return Limit::none;
    }
    if (spec_.deadline_days > 0 && days(step) > spec_.deadline_days) {
        return Limit::deadline;
    }
    if (spec_.budget > 0 && money(step, on) * spec_.tokens > spec_.budget) {
        return Limit::budget;
    }
    return Limit::none;
}

}  // namespace orrery
