// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <stdlib.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <thread>

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kStartsMost = 5;  // of a process that never trains

std::vector<std::uint32_t> bits_of(std::uint64_t mask) {
    std::vector<std::uint32_t> bits;
    for (std::uint32_t i = 0; i < 64; ++i) {
        if ((mask >> i & 1) != 0) {
            bits.push_back(i);
        }
    }
    return bits;
}

// "TAG PEERS WORDS".
void read_beat(const std::string& text,
               std::uint64_t& tag,
               std::uint64_t& peers,
               std::string& words) {
    const char* end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, tag);
    const auto second = std::from_chars(std::min(first.ptr + 1, end), end, peers);
    words = second.ptr < end ? std::string(second.ptr + 1, end) : std::string{};
}

}  // namespace

Nodes::Nodes(const std::vector<std::string>& command, std::uint32_t count, Milliseconds patience)
    : command_(command), patience_(patience), nodes_(count) {
    std::string name = (fs::temp_directory_path() / "orrery-supervised-XXXXXX").string();
    folder_ = mkdtemp(name.data()) == nullptr ? "" : name;
}

Nodes::~Nodes() {
    nodes_.clear();
    std::error_code ignored;
    if (!folder_.empty()) {
        fs::remove_all(folder_, ignored);
    }
}

Result<void> Nodes::start(NodeNumber number) {
    Node& node = nodes_[number];
    if (++node.starts > kStartsMost) {
        return fail(fmt::format("node {}", number),
                    fmt::format("did not get ready to train {} times in a row", kStartsMost));
    }
    auto process = MemberProcess::start(command_, number);
    if (!process) {
        return unexpected<Error>(process.error());
    }
    node.process = std::move(*process);
    node.state = State::present;
    node.idle = false;
    node.seen = Clock::now();
    return {};
}

Result<void> Nodes::start_all() {
    if (folder_.empty()) {
        return fail(fs::temp_directory_path().string(),
                    "cannot make a folder here",
                    "set TMPDIR to a folder that can be written");
    }
    for (NodeNumber node = 0; node < nodes_.size(); ++node) {
        if (Result<void> started = start(node); !started) {
            return started;
        }
    }
    return {};
}

pid_t Nodes::pid(NodeNumber node) const {
    return nodes_[node].process ? nodes_[node].process->pid() : 0;
}

void Nodes::wait(Milliseconds most) const {
    std::vector<pollfd> waiting;
    for (const Node& node : nodes_) {
        if (node.process) {
            waiting.push_back({.fd = node.process->descriptor(), .events = POLLIN, .revents = 0});
        }
    }
    poll(waiting.data(), waiting.size(), static_cast<int>(most.count()));
}

std::vector<MemberReport> Nodes::reports(NodeNumber node) {
    return nodes_[node].process ? nodes_[node].process->reports() : std::vector<MemberReport>{};
}

bool Nodes::hear(NodeNumber number, const MemberReport& report, Clock::time_point now) {
    Node& node = nodes_[number];
    node.seen = now;
    if (report.kind == ReportKind::ready) {
        node.idle = node.process != nullptr;
        return false;
    }
    if (report.generation != generation_) {
        return false;
    }
    switch (report.kind) {
        case ReportKind::beat:
            node.waiting = report.number != 0;
            read_beat(report.text, node.tag, node.waits_for, node.doing);
            return false;
        case ReportKind::training:
            node.state = State::training;
            node.step = report.step;
            node.starts = 0;
            break;
        case ReportKind::step:
            node.step = report.step;
            node.computed_us += report.number;
            ++node.computed_steps;
            break;
        case ReportKind::left:
            node.state = State::left;
            break;
        case ReportKind::failed:
            node.state = State::failed;
            node.accused = report.number;
            node.error = report.text;
            break;
        case ReportKind::done:
            node.state = State::done;
            break;
        default:
            break;
    }
    return true;
}

void Nodes::assign(const JobState& state) {
    active_.clear();
    const std::vector<std::uint32_t> dropped = state.dropped_units();
    shape_ = state.shape;
    shape_.units -= static_cast<std::uint32_t>(dropped.size());
    shape_.slots = state.shape.slots / state.shape.units * shape_.units;
    for (std::uint32_t slot = 0; slot < state.slots.size(); ++slot) {
        const bool out =
            std::binary_search(dropped.begin(), dropped.end(), state.shape.unit_of(slot));
        if (!out && state.slots[slot].node != kNobody) {
            active_.push_back(state.slots[slot].node);
        }
    }
}

Result<void> Nodes::make_ready(bool kill_late) {
    for (const NodeNumber number : active_) {
        Node& node = nodes_[number];
        if (kill_late && node.process && !node.idle) {
            node.process.reset();
        }
        if (!node.process) {
            if (Result<void> started = start(number); !started) {
                return started;
            }
        }
    }
    return {};
}

template <class Is>
bool Nodes::all_active(Is is) const {
    return std::all_of(active_.begin(), active_.end(), [&](NodeNumber node) {
        return nodes_[node].process != nullptr && is(nodes_[node]);
    });
}

bool Nodes::all_ready() const {
    return all_active([](const Node& node) { return node.idle; });
}

Result<void> Nodes::go(const std::string& checkpoint, const std::vector<std::uint32_t>& struck) {
    ++generation_;
    const fs::path store = folder_ / std::to_string(generation_);
    std::error_code error;
    fs::create_directories(store, error);
    if (error) {
        return fail(store.string(), "cannot be made: " + error.message());
    }
    for (std::uint32_t rank = 0; rank < active_.size(); ++rank) {
        Node& node = nodes_[active_[rank]];
        node.state = State::ordered;
        node.idle = false;
        node.waiting = false;
        node.accused = -1;
        node.error.clear();
        node.computed_us = 0;
        node.computed_steps = 0;
        node.seen = Clock::now();
        node.process->send({.kind = OrderKind::go,
                            .generation = generation_,
                            .rank = rank,
                            .num_ranks = static_cast<std::uint32_t>(active_.size()),
                            .store = store.string(),
                            .checkpoint = checkpoint,
                            .struck = struck});
    }
    return {};
}

bool Nodes::all_started() const {
    return all_active([](const Node& node) { return node.state >= State::training; });
}

bool Nodes::all_done() const {
    return std::all_of(active_.begin(), active_.end(), [&](NodeNumber node) {
        return nodes_[node].state == State::done;
    });
}

bool Nodes::all_left() const {
    return all_active([](const Node& node) { return node.state == State::left; });
}

void Nodes::order_leave() const {
    for (const NodeNumber node : active_) {
        if (nodes_[node].process) {
            nodes_[node].process->send({.kind = OrderKind::leave, .generation = generation_});
        }
    }
}

void Nodes::kill_active() {
    for (const NodeNumber node : active_) {
        nodes_[node].process.reset();
    }
}

void Nodes::kill_not_started() {
    for (const NodeNumber node : active_) {
        if (nodes_[node].process && nodes_[node].state == State::ordered) {
            nodes_[node].process->kill();
        }
    }
}

void Nodes::quit() {
    for (const Node& node : nodes_) {
        if (node.process) {
            node.process->send({.kind = OrderKind::quit});
        }
    }
    const auto until = Clock::now() + patience_;
    for (Node& node : nodes_) {
        while (node.process && !node.process->ended() && Clock::now() < until) {
            std::this_thread::sleep_for(Milliseconds{5});
        }
        node.process.reset();
    }
}

void Nodes::note_deaths(Clock::time_point now) {
    for (NodeNumber number = 0; number < nodes_.size(); ++number) {
        Node& node = nodes_[number];
        if (node.process && node.process->ended()) {
            for (const MemberReport& last : node.process->reports()) {
                hear(number, last, now);
            }
            node.process.reset();
            node.idle = false;
        }
    }
}

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

// Who says so of itself.
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
                              fmt::join(bits_of(node.waits_for), ", "))
                : fmt::format("rank {} (node {}) never arrived: it computes after step {}{}",
                              rank,
                              active_[rank],
                              node.step,
                              in.empty() ? "" : ", last seen" + in));
    }
    return lines;
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

void Nodes::evict(NodeNumber number, Clock::time_point back) {
    Node& node = nodes_[number];
    node.process.reset();
    node.state = State::absent;
    node.idle = false;
    node.back = back;
}

std::vector<NodeNumber> Nodes::repaired(Clock::time_point now) {
    std::vector<NodeNumber> ready;
    for (NodeNumber number = 0; number < nodes_.size(); ++number) {
        Node& node = nodes_[number];
        if (!node.back || now < *node.back) {
            continue;
        }
        if (!node.process) {
            const Result<void> started = start(number);  // if not now, then when it is needed
            node.back = started ? node.back : std::nullopt;
        } else if (node.idle) {
            node.back.reset();
            ready.push_back(number);
        }
    }
    return ready;
}

}  // namespace orrery
