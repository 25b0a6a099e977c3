// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/nodes.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <charconv>
#include <thread>
#include <utility>

#include "runtime/communication/job.h"
#include "runtime/communication/tcp_store.h"

namespace orrery {
namespace {

constexpr std::uint32_t kStartsMost = 5;  // starts of a process that never trains

// "TAG PEERS WORDS".
void read_beat(const std::string& text,
               std::uint64_t& tag,
               std::string& peers,
               std::string& words) {
    const char* end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, tag);
    const std::string_view rest{std::min(first.ptr + 1, end), end};
    peers = rest.substr(0, rest.find(' '));
    words = rest.substr(std::min(peers.size() + 1, rest.size()));
}

}  // namespace

Nodes::Nodes(const std::vector<std::string>& command,
             std::uint32_t count,
             Milliseconds patience,
             Places places)
    : command_(command), patience_(patience), places_(std::move(places)), nodes_(count) {}

Nodes::~Nodes() = default;

Result<void> Nodes::start(NodeNumber number) {
    Node& node = nodes_[number];
    if (++node.starts > kStartsMost) {
        if (!places_.here()) {
            node.starts = 0;
            out_of_reach_ = number;
        }
        return fail(fmt::format("node {}", number),
                    fmt::format("did not get ready to train {} times in a row", kStartsMost));
    }
    auto process = places_.here() ? MemberProcess::start(command_, number)
                                  : MemberProcess::start(command_, number, places_.of_node[number]);
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
    for (NodeNumber node = 0; node < nodes_.size(); ++node) {
        if (nodes_[node].process || nodes_[node].back) {
            continue;
        }
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
        case ReportKind::checked:
            node.state = State::checked;
            node.error = report.text;
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
        if (!out && state.slots[slot].node != kNoNode) {
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

Result<void> Nodes::go(const Start& start) {
    ++generation_;
    auto store = TcpStoreServer::start(places_.here() ? "127.0.0.1" : "::", 0);
    if (!store) {
        return unexpected<Error>(store.error());
    }
    store_ = std::move(*store);  // no process uses the old store any more
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
        std::vector<std::uint32_t> lasting;
        for (const auto& [fault, where] : start.lasting) {
            if (where == active_[rank]) {
                lasting.push_back(fault);
            }
        }
        node.process->send({.kind = start.kind,
                            .generation = generation_,
                            .rank = rank,
                            .num_ranks = static_cast<std::uint32_t>(active_.size()),
                            .store = places_.here() ? local_store(store_->port())
                                                    : store_at(places_.address, store_->port()),
                            .checkpoint = start.checkpoint,
                            .struck = start.struck,
                            .lasting = lasting});
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

// Kills all first and waits for all later, so that their ends overlap.
void Nodes::kill_active() {
    for (const NodeNumber node : active_) {
        if (nodes_[node].process) {
            nodes_[node].process->kill();
        }
    }
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
    for (Node& node : nodes_) {
        if (node.back) {  // in repair: it has nothing to finish, and may be unreachable
            node.process.reset();
        }
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

void Nodes::evict(NodeNumber number, Clock::time_point back) {
    Node& node = nodes_[number];
    node.process.reset();
    node.state = State::absent;
    node.idle = false;
    node.back = back;
    node.next_try = back;
}

std::vector<NodeNumber> Nodes::repaired(Clock::time_point now) {
    std::vector<NodeNumber> ready;
    for (NodeNumber number = 0; number < nodes_.size(); ++number) {
        Node& node = nodes_[number];
        if (!node.back || now < *node.back) {
            continue;
        }
        if (!node.process && now >= node.next_try) {
            node.next_try = now + patience_;
            node.starts = 0;  // its machine may be off for a long time
            [[maybe_unused]] const Result<void> started = start(number);
        } else if (node.process && node.idle) {
            node.back.reset();
            ready.push_back(number);
        }
    }
    return ready;
}

std::vector<NodeInRepair> Nodes::in_repair(Clock::time_point now) const {
    std::vector<NodeInRepair> nodes;
    for (NodeNumber number = 0; number < nodes_.size(); ++number) {
        if (nodes_[number].back) {
            const std::chrono::duration<double> left = *nodes_[number].back - now;
            nodes.push_back({.node = number, .seconds_left = left.count()});
        }
    }
    std::ranges::stable_sort(nodes, {}, &NodeInRepair::seconds_left);
    return nodes;
}

}  // namespace orrery
