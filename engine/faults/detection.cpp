// SPDX-License-Identifier: Apache-2.0
#include "engine/faults/detection.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace orrery {
namespace {

// The earlier detection. A timeout, which has no place, must be strictly earlier to win.
Detection earlier(const Detection& seen, const Detection& timeout) {
    return timeout.latency < seen.latency ? timeout : seen;
}

Detection unconfirmed(const DetectionSpec& spec, FaultKind kind, double uniform) {
    const auto periodic = [&](WallTime period) {
        return WallTime::seconds(uniform * period.seconds());
    };
    constexpr WallTime kNever = WallTime::max();
    switch (info(kind).symptom) {
        case Symptom::exit_code:
            return {Detector::exit_code, WallTime{}, true};
        case Symptom::node_error: {
            const Detection agent{Detector::node_agent, periodic(info(kind).inspection), true};
            return spec.node_agent ? earlier(agent, hang_detection(spec)) : hang_detection(spec);
        }
        case Symptom::silence: {
            const Detection beat{Detector::heartbeat, spec.heartbeat, true};
            return spec.heartbeat > WallTime{} ? earlier(beat, hang_detection(spec))
                                               : hang_detection(spec);
        }
        case Symptom::slowness:
            return {Detector::step_outlier,
                    spec.step_outlier > WallTime{} ? periodic(spec.step_outlier) : kNever,
                    true};
        case Symptom::anomaly:
            return {Detector::anomaly,
                    spec.anomaly > WallTime{}
                        ? WallTime::seconds(-std::log(uniform) * spec.anomaly.seconds())
                        : kNever,
                    false};
        case Symptom::store_error:
            return {Detector::exit_code, WallTime{}, true};
        default:
            return hang_detection(spec);
    }
}

}  // namespace

Detection hang_detection(const DetectionSpec& spec) {
    if (spec.progress_watchdog > WallTime{} && spec.progress_watchdog < spec.collective_timeout) {
        return {Detector::progress_watchdog, spec.progress_watchdog, false};
    }
    return {Detector::collective_timeout, spec.collective_timeout, false};
}

std::string_view name(Detector detector) {
    static constexpr std::array<std::string_view, kNumDetectors> kNames = {"exit_code",
                                                                           "node_agent",
                                                                           "heartbeat",
                                                                           "progress_watchdog",
                                                                           "collective_timeout",
                                                                           "step_outlier",
                                                                           "replay",
                                                                           "anomaly"};
    static_assert(static_cast<std::size_t>(Detector::anomaly) + 1 == kNames.size());
    return kNames[static_cast<std::size_t>(detector)];
}

Detection detect(const DetectionSpec& spec, FaultKind kind, double uniform) {
    Detection found = unconfirmed(spec, kind, uniform);
    if (found.latency != WallTime::max()) {
        found.latency += spec.confirmation;
    }
    return found;
}

FlapOutcome flap_outcome(WallTime down, std::uint32_t timeout, std::uint32_t retries) {
    const double timer = 4.096e-6 * std::ldexp(1.0, static_cast<int>(timeout));
    const double budget = timer * retries;
    if (down.seconds() >= budget) {
        return {WallTime::seconds(budget), true};
    }
    return {WallTime::seconds(std::ceil(down.seconds() / timer) * timer), false};
}

}  // namespace orrery
