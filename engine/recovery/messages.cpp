// SPDX-License-Identifier: Apache-2.0
#include "engine/recovery/messages.h"

#include <fmt/format.h>

#include <array>

namespace orrery {

std::string_view name(ObservationKind kind) {
    static constexpr std::array<std::string_view, kNumObservationKinds> kNames = {
        "training_started",
        "fault_detected",
        "node_slow",
        "corruption_found",
        "diagnosis_done",
        "warning",
        "notice",
        "drained",
        "node_ready",
        "checked"};
    static_assert(static_cast<std::size_t>(ObservationKind::checked) + 1 == kNames.size());
    return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name(ActionKind kind) {
    static constexpr std::string_view kNames[] = {"diagnose",
                                                  "evict",
                                                  "replace",
                                                  "drop",
                                                  "reroute",
                                                  "take_over",
                                                  "wait",
                                                  "drain",
                                                  "restart",
                                                  "call_operator",
                                                  "set_interval",
                                                  "check"};
    return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name(RestoreSource source) {
    static constexpr std::string_view kNames[] = {"live", "memory", "remote"};
    return kNames[static_cast<std::size_t>(source)];
}

std::string_view name(RestartExtent extent) {
    static constexpr std::string_view kNames[] = {"failover", "in_place", "members", "full"};
    return kNames[static_cast<std::size_t>(extent)];
}

std::string to_line(const Observation& o) {
    std::string line = fmt::format("{} {} step {} durable {} memory {}",
                                   o.time.microseconds(),
                                   name(o.kind),
                                   o.step,
                                   o.durable_step,
                                   o.memory_step);
    if (o.kind == ObservationKind::fault_detected) {
        line += fmt::format(" {} by {}", name(o.fault), name(o.detector));
    }
    if (o.kind == ObservationKind::corruption_found) {
        line += fmt::format(" verified {}", o.verified_step);
    }
    for (const NodeNumber node : o.nodes) {
        line += fmt::format(" node:{}", node);
    }
    for (const NodeNumber node : o.slow) {
        line += fmt::format(" slow node:{}", node);
    }
    return line;
}

std::string to_line(const Action& a) {
    switch (a.kind) {
        case ActionKind::evict:
            return fmt::format("evict node:{}", a.node);
        case ActionKind::replace:
            return fmt::format("replace slot {} by node:{}", a.slot, a.node);
        case ActionKind::drop:
        case ActionKind::reroute:
        case ActionKind::take_over:
            return fmt::format("{} slot {}", name(a.kind), a.slot);
        case ActionKind::drain:
            return a.node == kNoNode
                       ? std::string{"drain"}
                       : fmt::format("drain node:{}{}", a.node, a.urgent ? " now" : "");
        case ActionKind::restart: {
            std::string line = fmt::format("restart {} from {}", name(a.extent), name(a.source));
            if (a.step_max != INT64_MAX) {
                line += fmt::format(" at most step {}", a.step_max);
            }
            if (a.checkpoints_back > 0) {
                line += fmt::format(" {} checkpoints back", a.checkpoints_back);
            }
            return line + (a.skip_batches ? " skipping batches" : "");
        }
        case ActionKind::set_interval:
            return fmt::format("set_interval {}", a.interval.microseconds());
        default:
            return std::string{name(a.kind)};
    }
}

std::string to_text(const std::vector<RecoveryExchange>& log) {
    std::string text;
    for (const RecoveryExchange& exchange : log) {
        text += to_line(exchange.seen) + "\n";
        for (const Action& action : exchange.ordered) {
            text += "  " + to_line(action) + "\n";
        }
    }
    return text;
}

}  // namespace orrery
