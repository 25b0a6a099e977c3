// SPDX-License-Identifier: Apache-2.0
#include "engine/faults/fault_process.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace orrery {
namespace {

// Purposes of a component's random streams: draw << 16 | occurrence << 8 | kind.
enum class Draw : std::uint32_t { interval, lottery, frailty, mark, duration, escalation, burst };

std::uint32_t purpose(Draw draw, FaultKind kind, std::uint32_t occurrence) {
    return static_cast<std::uint32_t>(draw) << 16 | (occurrence & 0xFFU) << 8 |
           static_cast<std::uint32_t>(kind);
}

// The integral over time of the days' intensities, for stretching time. Without bursts it equals
// time.
class Intensity {
public:
    Intensity(const FaultWeather& weather, WallTime horizon, std::uint64_t seed)
        : horizon_s_(horizon.seconds()) {
        if (weather.burst_shape <= 0) {
            total_ = horizon_s_;
            return;
        }
        const auto days = static_cast<std::uint64_t>(std::ceil(horizon.days()));
        for (std::uint64_t day = 0; day < days; ++day) {
            CounterRandom random{seed, day, purpose(Draw::burst, FaultKind::gpu_lost, 0)};
            begin_.push_back(total_);
            total_ += kDay * random.gamma(weather.burst_shape);
        }
    }
    // The instant at which the integral reaches `operational`; at least the horizon if it never
    // does.
    double instant_s(double operational) const {
        if (begin_.empty() || operational >= total_) {
            return begin_.empty() ? operational : horizon_s_;
        }
        const auto after = std::upper_bound(begin_.begin(), begin_.end(), operational);
        const auto day = static_cast<std::size_t>(after - begin_.begin()) - 1;
        const double end = day + 1 < begin_.size() ? begin_[day + 1] : total_;
        const double share = (operational - begin_[day]) / (end - begin_[day]);
        return (static_cast<double>(day) + share) * kDay;
    }
    double total() const { return total_; }

private:
    static constexpr double kDay = 86400;
    std::vector<double> begin_;
    double total_ = 0;
    double horizon_s_ = 0;
};

class Generator {
public:
    Generator(const ClusterShape& shape,
              const FaultWeather& weather,
              WallTime horizon,
              std::uint64_t seed)
        : shape_(shape),
          weather_(weather),
          horizon_(horizon),
          seed_(seed),
          intensity_(weather, horizon, seed) {}

    void add(const FaultProcess& process, std::uint16_t number) {
        process_ = &process;
        number_ = number;
        occurrence_ = occurrences_[static_cast<std::size_t>(process.kind)]++;
        if (!process.events.empty()) {
            for (FaultEvent event : process.events) {
                event.process = number;
                event.id = id_of(event.nodes.first);
                push(event);
            }
            return;
        }
        if (process.at.index != kEvery) {
            add_component(process.at);
            return;
        }
        for (std::uint32_t i = 0; i < shape_.components(process.at.scope); ++i) {
            add_component({process.at.scope, i});
        }
    }

    std::vector<FaultEvent> sorted() && {
        const auto key = [](const FaultEvent& e) {
            return std::tuple{e.time, e.step, e.process, e.nodes.first, e.id};
        };
        std::sort(events_.begin(), events_.end(), [&](const auto& a, const auto& b) {
            return key(a) < key(b);
        });
        return std::move(events_);
    }

private:
    CounterRandom stream(Component component, Draw draw) const {
        return {seed_, entity_of(component), purpose(draw, process_->kind, occurrence_)};
    }

    double rate_of(Component component) const {
        if (process_->frailty <= 0) {
            return weather_.boost_max;
        }
        // One variate per node, so that a lemon node is one for every class of faults.
        const NodeRange nodes = nodes_of(shape_, component);
        const Component node{Scope::node, nodes.first};
        CounterRandom random{
            seed_, entity_of(node), purpose(Draw::frailty, FaultKind::gpu_lost, 0)};
        return weather_.boost_max * random.gamma(process_->frailty);
    }

    void add_component(Component component) {
        if (process_->probability < 1 &&
            stream(component, Draw::lottery).uniform() >= process_->probability) {
            return;
        }
        if (process_->once || process_->once_step >= 0) {
            push_decorated(component, process_->once.value_or(WallTime{}));
            return;
        }
        CounterRandom intervals = stream(component, Draw::interval);
        const double rate = rate_of(component);
        double operational = 0;
        for (;;) {
            operational += sample_s(process_->interval, intervals) / rate;
            // A rate of zero makes `operational` infinite; the negated comparison then ends the
            // loop, too.
            if (!(operational < intensity_.total()) || process_->interval.scale == WallTime{}) {
                return;
            }
            push_decorated(component, WallTime::seconds(intensity_.instant_s(operational)));
        }
    }

    void push_decorated(Component component, WallTime time) {
        FaultEvent event;
        event.time = time;
        event.nodes = nodes_of(shape_, component);
        event.at = component;
        event.kind = process_->kind;
        event.process = number_;
        event.id = id_of(entity_of(component));
        event.factor = process_->factor;
        event.notice = process_->notice;
        event.step = process_->once_step;
        decorate(component, event);
        push(event);
    }

    void decorate(Component component, FaultEvent& event) {
        const auto of_event = [&](Draw draw) {
            return CounterRandom{seed_, event.id, purpose(draw, process_->kind, occurrence_)};
        };
        if (weather_.boost_max > 1 && !process_->once && process_->once_step < 0) {
            CounterRandom random = of_event(Draw::mark);
            event.mark = static_cast<float>(weather_.boost_max * random.uniform());
        }
        if (process_->duration) {
            CounterRandom random = of_event(Draw::duration);
            event.duration = sample(*process_->duration, random);
        }
        if (process_->escalation) {
            CounterRandom random = of_event(Draw::escalation);
            if (random.uniform() < process_->escalation->probability) {
                FaultEvent next = event;
                next.kind = process_->escalation->kind;
                next.factor = 0;
                next.time += WallTime::seconds(process_->escalation->mean_delay.seconds() *
                                               random.exponential());
                next.id = id_of(entity_of(component));
                push(next);
            }
        }
    }

    // Distinct for each fault of a component, and independent of the number of components.
    std::uint64_t id_of(std::uint64_t entity) {
        const std::uint32_t kind = purpose(Draw::interval, process_->kind, occurrence_);
        const std::uint64_t n = counts_[{entity, kind}]++;
        CounterRandom mixed{n, entity, kind};
        return mixed.next();
    }

    void push(const FaultEvent& event) {
        if (event.time < horizon_) {
            events_.push_back(event);
        }
    }

    const ClusterShape& shape_;
    const FaultWeather& weather_;
    WallTime horizon_;
    std::uint64_t seed_;
    Intensity intensity_;
    const FaultProcess* process_ = nullptr;
    std::uint16_t number_ = 0;
    std::uint32_t occurrence_ = 0;
    std::array<std::uint32_t, kNumFaultKinds> occurrences_{};
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> counts_;
    std::vector<FaultEvent> events_;
};

}  // namespace

std::vector<FaultEvent> make_schedule(const std::vector<FaultProcess>& processes,
                                      const FaultWeather& weather,
                                      const ClusterShape& shape,
                                      WallTime horizon,
                                      std::uint64_t seed) {
    Generator generator{shape, weather, horizon, seed};
    for (std::size_t i = 0; i < processes.size(); ++i) {
        generator.add(processes[i], static_cast<std::uint16_t>(i));
    }
    return std::move(generator).sorted();
}

std::uint32_t population(const FaultProcess& process, const ClusterShape& shape) {
    return process.at.index == kEvery ? shape.components(process.at.scope) : 1;
}

double expected_faults(const FaultProcess& process, const ClusterShape& shape, WallTime span) {
    if (!process.events.empty()) {
        return static_cast<double>(process.events.size());
    }
    const double components = population(process, shape);
    if (process.once || process.once_step >= 0) {
        return process.probability * components;
    }
    return process.probability * components * expected_renewals(process.interval, span.seconds());
}

}  // namespace orrery
