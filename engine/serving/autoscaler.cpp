// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/autoscaler.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace orrery {

namespace {

std::int64_t whole_instances(double instances) {
    constexpr double kMost = 1e9;
    return static_cast<std::int64_t>(std::ceil(std::min(instances, kMost) - 1e-9));
}

class ScalesByRate : public Autoscaler {
public:
    explicit ScalesByRate(double target) : target_(target) {}
    std::int64_t wanted(const PoolObservation& seen) const override {
        return whole_instances(static_cast<double>(seen.arrivals) / seen.seconds / target_);
    }

private:
    double target_;
};

class ScalesByQueue : public Autoscaler {
public:
    explicit ScalesByQueue(double target) : target_(target) {}
    std::int64_t wanted(const PoolObservation& seen) const override {
        return whole_instances(static_cast<double>(seen.waiting) / target_);
    }

private:
    double target_;
};

class ScalesByCache : public Autoscaler {
public:
    explicit ScalesByCache(double target) : target_(target) {}
    std::int64_t wanted(const PoolObservation& seen) const override {
        return whole_instances(static_cast<double>(seen.instances) * seen.cache_use / target_);
    }

private:
    double target_;
};

class ScalesByObjectives : public Autoscaler {
public:
    explicit ScalesByObjectives(double target) : target_(target) {}
    std::int64_t wanted(const PoolObservation& seen) const override {
        if (static_cast<double>(seen.good) < target_ * static_cast<double>(seen.ended)) {
            return seen.instances + 1;
        }
        return seen.good == seen.ended && seen.waiting == 0 ? seen.instances - 1 : seen.instances;
    }

private:
    double target_;
};

struct AutoscalerRow {
    std::string_view name;
    std::unique_ptr<Autoscaler> (*make)(double target);
};

template <class Kind>
std::unique_ptr<Autoscaler> make_scaler(double target) {
    return std::make_unique<Kind>(target);
}

constexpr std::array<AutoscalerRow, 4> kAutoscalers{{
    {"rate", make_scaler<ScalesByRate>},
    {"queue", make_scaler<ScalesByQueue>},
    {"cache", make_scaler<ScalesByCache>},
    {"objectives", make_scaler<ScalesByObjectives>},
}};

}  // namespace

std::vector<std::string_view> autoscaler_names() {
    std::vector<std::string_view> names{"none"};
    for (const AutoscalerRow& row : kAutoscalers) {
        names.push_back(row.name);
    }
    return names;
}

std::unique_ptr<Autoscaler> make_autoscaler(std::string_view name, double target) {
    const auto* const row = std::ranges::find(kAutoscalers, name, &AutoscalerRow::name);
    return row == kAutoscalers.end() ? nullptr : row->make(target);
}

}  // namespace orrery
