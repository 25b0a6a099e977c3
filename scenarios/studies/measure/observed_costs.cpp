// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/observed_costs.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "engine/base/statistics.h"
#include "models/memory/memory_plan.h"

namespace orrery {
namespace {

struct Sample {
    Time median;  // or another mean
    double spread = 0;
    std::int64_t samples = 1;
};

// Mean without the outer tenths. Times of a step add up, so the mean is needed, but without
// disturbances from outside the machine's own work.
double trimmed_mean(const std::vector<double>& sorted) {
    const std::size_t cut = sorted.size() / 10;
    double sum = 0;
    for (std::size_t i = cut; i < sorted.size() - cut; ++i) {
        sum += sorted[i];
    }
    return sum / static_cast<double>(sorted.size() - 2 * cut);
}

Sample sample_of(std::vector<double> seconds) {
    std::ranges::sort(seconds);
    const double middle = std::max(trimmed_mean(seconds), 1e-9);
    return {.median = Time::seconds(middle),
            .spread = quartile_spread(seconds, middle),
            .samples = static_cast<std::int64_t>(seconds.size())};
}

using KernelKey = std::tuple<KernelKind, Dtype, std::uint8_t, std::array<std::int64_t, 6>>;
using TransferKey = std::tuple<TransferKind, Dtype, std::int64_t, std::uint32_t>;

class Observer {
public:
    explicit Observer(const Program& program) : program_(program) {}

    void add(const MeasuredStep& step) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            add_rank(step, to_id<RankId>(r));
        }
    }

    MachineProfile profile(const std::string& device, std::uint32_t ranks) {
        MachineProfile result;
        for (auto& [key, times] : kernels_) {
            const Sample sample = sample_of(std::move(times.second));
            result.kernels.push_back({.device = device,
                                      .call = times.first,
                                      .median = sample.median,
                                      .spread = sample.spread,
                                      .samples = sample.samples,
                                      .ranks = ranks});
        }
        for (auto& [key, times] : transfers_) {
            const auto& [kind, wire, bytes, members] = key;
            const Sample sample = sample_of(std::move(times));
            result.transfers.push_back({.device = device,
                                        .time = {.kind = kind,
                                                 .wire = wire,
                                                 .bytes = Bytes{bytes},
                                                 .ranks = members,
                                                 .median = sample.median,
                                                 .spread = sample.spread,
                                                 .samples = sample.samples}});
        }
        const auto host = [&](bool whole_step, Bytes cleared, std::vector<double> times) {
            const Sample sample = sample_of(std::move(times));
            result.hosts.push_back({.device = device,
                                    .whole_step = whole_step,
                                    .cleared = cleared,
                                    .median = sample.median,
                                    .spread = sample.spread,
                                    .samples = sample.samples,
                                    .ranks = ranks});
        };
        if (!per_op_.empty()) {
            host(false, Bytes{}, std::move(per_op_));
            host(true, MemoryPlan(program_, RoleId{0}).cleared_bytes(), std::move(per_step_));
        }
        return result;
    }

private:
    void add_rank(const MeasuredStep& step, RankId rank) {
        const auto ops = step.of_rank(rank);
        if (ops.empty()) {
            return;
        }
        Time in_ops;
        const auto lost = step.lost_of_rank(rank);
        for (std::size_t i = 0; i < ops.size(); ++i) {
            in_ops += ops[i].end - ops[i].start;
            add_op(ops[i], lost[i]);
        }
        if (step.overlaps) {
            return;  // gaps between ops belong to other streams, and losses are counted separately
        }
        const MeasuredStep::OfRank& times = step.ranks[index(rank)];
        const Time span = ops.back().end - ops.front().start;
        const auto gaps = static_cast<double>(std::max<std::size_t>(ops.size() - 1, 1));
        // Time lost outside of ops is divided over the gaps between them and the time around them.
        const Time between = span - in_ops;
        Time outside = (times.end - times.begin) - span - (times.loss_data - times.loss);
        const Time before_loss = outside - (times.end - times.loss_data) + between;
        const double own = before_loss > Time{} ? std::max(0.0, 1 - times.lost / before_loss) : 1.0;
        per_op_.push_back(between.seconds() * own / gaps);
        // The losses are summed by an all_reduce of four bytes.
        if (step.ranks.size() > 1) {
            const Time loss = times.end - times.loss_data;
            transfers_[{TransferKind::all_reduce, Dtype::fp32, 4, step.ranks.size()}].push_back(
                (loss - times.loss_lost).seconds());
            outside -= loss;
        }
        per_step_.push_back(outside.seconds() * own);
    }

    void add_op(const TracedOp& traced, Time lost) {
        const Role& role = program_.roles[index(program_.role_of(traced.rank))];
        const Op& op = program_.segment_of(role.slots[traced.slot]).ops[traced.op];
        if (op.kind() == OpKind::kernel) {
            const KernelCall& call = program_.kernel(op);
            auto& times = kernels_[{call.kind, call.dtype, call.variant, call.dims}];
            times.first = call;
            times.second.push_back((traced.end - traced.start - lost).seconds());
            return;
        }
        const double seconds = (traced.end - traced.data_start - lost).seconds();
        if (op.kind() == OpKind::collective) {
            const CollectiveCall& call = program_.collective(op);
            const auto members = program_.mesh_of(traced.rank)
                                     .members(program_.groups[index(call.group)], traced.rank);
            if (members.size() > 1) {
                transfers_
                    [{transfer_kind(call.kind), call.wire, call.bytes.count(), members.size()}]
                        .push_back(seconds);
            }
        } else if (op.kind() == OpKind::send_recv) {
            add_message(program_.send_recv(op), seconds);
        }
    }

    // The time of a message is measured at its receiver.
    void add_message(const SendRecvCall& call, double seconds) {
        std::int64_t largest = 0;
        for (const SendRecvPart& part : call.parts) {
            largest = std::max(largest, part.is_send ? 0 : part.bytes.count());
        }
        if (largest > 0) {
            transfers_[{TransferKind::send_recv, Dtype::fp32, largest, 2}].push_back(seconds);
        }
    }

    const Program& program_;
    std::map<KernelKey, std::pair<KernelCall, std::vector<double>>> kernels_;
    std::map<TransferKey, std::vector<double>> transfers_;
    std::vector<double> per_op_;
    std::vector<double> per_step_;
};

// Merges rows with equal keys by `combine`.
template <class Key, class Row>
std::vector<Row> combined(const std::map<Key, std::vector<Row>>& rows, Time Row::*median) {
    std::vector<Row> result;
    for (const auto& [key, equal] : rows) {
        std::vector<Row> sorted = equal;
        std::ranges::stable_sort(sorted, {}, median);
        Row row = sorted[sorted.size() / 2];
        row.samples = 0;
        for (const Row& each : equal) {
            row.samples += each.samples;
        }
        result.push_back(std::move(row));
    }
    return result;
}

}  // namespace

MachineProfile observed_costs(const Program& program,
                              const std::vector<const MeasuredStep*>& steps,
                              const std::string& device,
                              std::uint32_t ranks_on_node) {
    Observer observer{program};
    for (const MeasuredStep* step : steps) {
        observer.add(*step);
    }
    return observer.profile(device, ranks_on_node);
}

MachineProfile merged(const std::vector<MachineProfile>& profiles) {
    std::map<std::tuple<std::string, KernelKey, std::uint32_t>, std::vector<ProfileEntry>> kernels;
    std::map<std::pair<std::string, TransferKey>, std::vector<MeasuredTransfer>> transfers;
    std::map<std::tuple<std::string, bool, std::int64_t, std::uint32_t>, std::vector<HostEntry>>
        hosts;
    for (const MachineProfile& profile : profiles) {
        for (const ProfileEntry& e : profile.kernels) {
            const KernelCall& call = e.call;
            kernels[{e.device, {call.kind, call.dtype, call.variant, call.dims}, e.ranks}]
                .push_back(e);
        }
        for (const auto& [device, time] : profile.transfers) {
            transfers[{device, {time.kind, time.wire, time.bytes.count(), time.ranks}}].push_back(
                time);
        }
        for (const HostEntry& e : profile.hosts) {
            hosts[{e.device, e.whole_step, e.cleared.count(), e.ranks}].push_back(e);
        }
    }
    MachineProfile result;
    result.kernels = combined(kernels, &ProfileEntry::median);
    result.hosts = combined(hosts, &HostEntry::median);
    for (const auto& [key, rows] : transfers) {
        const std::map<int, std::vector<MeasuredTransfer>> one{{0, rows}};
        result.transfers.push_back({key.first, combined(one, &MeasuredTransfer::median).front()});
    }
    return result;
}

}  // namespace orrery
