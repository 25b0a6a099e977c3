// SPDX-License-Identifier: Apache-2.0
// Conclusions from the members' reports (nodes.h): failed, accused, missing and slow nodes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "runtime/supervisor/nodes.h"

namespace orrery {
bool Nodes::silent(const Node& node, Milliseconds heartbeat, Clock::time_point now) const {
    return heartbeat > Milliseconds{0} && now - node.seen > heartbeat;
}

bool Nodes::somebody_failed(Milliseconds heartbeat, Clock::time_point now) const {
    return std::any_of(active_.begin(), active_.end(), [&](NodeNumber number) {
        const Node& node = nodes_[number];
        const bool finished = node.state == State::done || node.state == State::left;
        return (!node.process && !finished) || node.state == State::failed ||
               (node.process && silent(node, heartbeat, now));
    });
}

// The node that reports that it is cut off itself.
std::optional<NodeNumber> Nodes::cut_off() const {
    for (std::uint32_t rank = 0; rank < active_.size(); ++rank) {
        const Node& node = nodes_[active_[rank]];
        if (node.state == State::failed && node.accused == rank) {
            return active_[rank];
        }
    }
    return {};
}

bool Nodes::verdict_is_open() const {
    bool accuses = false;
    bool silent = false;
    if (cut_off()) {
        return false;
    }
    for (const NodeNumber number : active_) {
        const Node& node = nodes_[number];
        const bool failed = node.state == State::failed;
        if (!node.process || (failed && (node.accused == -1 || node.accused == -3))) {
            return false;  // the cause is known
        }
        accuses = accuses || (failed && node.accused >= 0);
        silent = silent || !failed;
    }
    return accuses && silent;
}

Failures Nodes::failures(Milliseconds heartbeat, Clock::time_point now) {
    Failures found;
    std::map<std::int64_t, int> accusations;
    for (const NodeNumber number : active_) {
        Node& node = nodes_[number];
        if (node.process && silent(node, heartbeat, now)) {
            node.process.reset();
        }
        if (!node.process) {
            found.lost.push_back(number);
        } else if (node.state == State::failed && node.accused >= 0) {
            ++accusations[node.accused];
        } else if (node.state == State::failed && (node.accused == -1 || node.accused == -3)) {
            found.wrong_numbers = found.wrong_numbers || node.accused == -3;
            found.errors.push_back(fmt::format("node {}: {}", number, node.error));
        }
    }
    const auto most =
        std::max_element(accusations.begin(), accusations.end(), [](const auto& a, const auto& b) {
            return a.second < b.second;
        });
    if (const auto own = cut_off(); own && found.lost.empty()) {
        found.unreachable.push_back(*own);
    } else if (most != accusations.end() &&
               most->first < static_cast<std::int64_t>(active_.size())) {
        found.unreachable.push_back(active_[static_cast<std::size_t>(most->first)]);
    }
    std::sort(found.lost.begin(), found.lost.end());
    return found;
}

std::vector<NodeNumber> Nodes::not_waiting() const {
    std::vector<NodeNumber> nodes;
    for (const NodeNumber number : active_) {
        if (!nodes_[number].process || !nodes_[number].waiting) {
            nodes.push_back(number);
        }
    }
    std::sort(nodes.begin(), nodes.end());
    return nodes.size() == active_.size() ? std::vector<NodeNumber>{} : nodes;
}

std::vector<std::string> Nodes::where_all_are() const {
    std::vector<std::string> lines;
    for (std::uint32_t rank = 0; rank < active_.size(); ++rank) {
        const Node& node = nodes_[active_[rank]];
        const std::string in = node.doing.empty() ? "" : " in " + node.doing;
        lines.push_back(
            node.waiting
                ? fmt::format("rank {} (node {}) waits after step {}{} for rank {}",
                              rank,
                              active_[rank],
                              node.step,
                              in,
                              node.waits_for)
                : fmt::format("rank {} (node {}) never arrived: it computes after step {}{}",
                              rank,
                              active_[rank],
                              node.step,
                              in.empty() ? "" : ", last seen" + in));
    }
    return lines;
}

bool Nodes::all_checked() const {
    return std::all_of(active_.begin(), active_.end(), [&](NodeNumber number) {
        const Node& node = nodes_[number];
        return !node.process || node.state == State::checked || node.state == State::failed;
    });
}

// The failed nodes are the nodes whose process ended. If no process ended, they are the nodes that
// did not finish in time while others waited. If there is no such node either, it is the node that
// most others could not reach. A healthy rank that gave up because of it has not failed.
CheckVerdict Nodes::verdict(Milliseconds heartbeat, Clock::time_point now) {
    CheckVerdict verdict;
    const Failures failures = this->failures(heartbeat, now);
    std::string told;
    std::vector<NodeNumber> late;
    for (const NodeNumber number : active_) {
        Node& node = nodes_[number];
        if (node.process && node.state == State::ordered) {
            if (!node.waiting) {
                late.push_back(number);
            }
            node.process.reset();
            node.idle = false;
        }
        told = node.state == State::checked && told.empty() ? node.error : told;
    }
    std::sort(late.begin(), late.end());
    verdict.failed = !failures.lost.empty()                  ? failures.lost
                     : !late.empty() && late.size() < size() ? late
                                                             : failures.unreachable;
    for (const NodeNumber number : verdict.failed) {
        verdict.lines.push_back(fmt::format("node {} fails the tests before the start", number));
    }
    if (!verdict.failed.empty()) {
        return verdict;  // the others' measurements are not reliable then
    }
    std::istringstream suspects{told};
    for (std::string one; std::getline(suspects, one, ';');) {
        std::uint32_t rank = 0;
        const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), rank);
        if (error == std::errc{} && rank < active_.size()) {
            verdict.slow.push_back(active_[rank]);
            verdict.lines.push_back(fmt::format(
                "node {} is slow in the tests before the start:{}",
                active_[rank],
                std::string_view{one}.substr(static_cast<std::size_t>(end - one.data()))));
        }
    }
    std::sort(verdict.slow.begin(), verdict.slow.end());
    verdict.slow.erase(std::unique(verdict.slow.begin(), verdict.slow.end()), verdict.slow.end());
    return verdict;
}

std::optional<NodeNumber> Nodes::slow_one(std::int64_t steps, double factor) const {
    std::vector<std::pair<std::int64_t, NodeNumber>> times;
    for (const NodeNumber number : active_) {
        if (nodes_[number].computed_steps < steps) {
            return std::nullopt;
        }
        times.emplace_back(nodes_[number].computed_us / nodes_[number].computed_steps, number);
    }
    if (times.size() < 3) {
        return std::nullopt;
    }
    std::sort(times.begin(), times.end());
    const auto median = static_cast<double>(times[(times.size() - 1) / 2].first);
    return static_cast<double>(times.back().first) > factor * median
               ? std::optional{times.back().second}
               : std::nullopt;
}

}  // namespace orrery
