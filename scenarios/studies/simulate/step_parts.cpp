// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/step_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace orrery {
namespace {

using PartKey = std::pair<PartKind, std::string>;

// An interval with a name. Where pieces overlap, the first in this order counts.
struct Piece {
    PartKind kind = PartKind::kernel;
    std::size_t order = 0;
    std::string name;
    Time begin;
    Time end;
};

std::string name_of(const Program& program, RoleId role, const Op& op) {
    switch (op.kind()) {
        case OpKind::kernel:
            return std::string{name(program.kernel(op).kind)};
        case OpKind::collective: {
            const CollectiveCall& call = program.collective(op);
            return fmt::format("{} on {}", name(call.kind), program.groups[index(call.group)].name);
        }
        case OpKind::send_recv: {
            const SendRecvCall& call = program.send_recv(op);
            const bool receives =
                std::ranges::any_of(call.parts, [](const auto& part) { return !part.is_send; });
            const SendRecvPart& first = call.parts.front();
            const std::string along =
                first.peers >= 0 ? "pp" : program.mesh_of(role).digits()[first.digit].name;
            return fmt::format("{} along {}", receives ? "receive" : "send", along);
        }
        case OpKind::copy: {
            const CopyCall& call = program.copy(op);
            return fmt::format("copy {} to {}", name(call.from), name(call.to));
        }
        default:
            return program.names[op.name];
    }
}

// Sweeps over the begins and ends of the pieces. Each interval between two of them goes to the
// first present piece.
class Sweep {
public:
    void add(Piece piece) {
        if (piece.begin < piece.end) {
            piece.order = pieces_.size();
            pieces_.push_back(std::move(piece));
        }
    }

    // Seconds by part.
    std::map<PartKey, double> run() const {
        std::vector<std::tuple<Time, bool, std::size_t>> edges;  // time, begins, piece
        for (std::size_t i = 0; i < pieces_.size(); ++i) {
            edges.emplace_back(pieces_[i].begin, true, i);
            edges.emplace_back(pieces_[i].end, false, i);
        }
        std::ranges::sort(edges);
        std::map<PartKey, double> seconds;
        std::set<std::pair<PartKind, std::size_t>> there;
        Time last;
        for (const auto& [time, begins, i] : edges) {
            if (!there.empty() && time > last) {
                const Piece& first = pieces_[there.begin()->second];
                seconds[{first.kind, first.name}] += (time - last).seconds();
            }
            last = time;
            if (begins) {
                there.emplace(pieces_[i].kind, i);
            } else {
                there.erase({pieces_[i].kind, i});
            }
        }
        return seconds;
    }

private:
    std::vector<Piece> pieces_;
};

std::vector<StepPart> listed(const std::map<PartKey, std::pair<double, double>>& parts) {
    std::vector<StepPart> list;
    for (const auto& [key, value] : parts) {
        list.push_back({key.first, key.second, value.first, value.second});
    }
    std::ranges::stable_sort(list, [](const StepPart& a, const StepPart& b) {
        return a.kind != b.kind ? a.kind < b.kind : a.seconds > b.seconds;
    });
    return list;
}

}  // namespace

std::string_view name(PartKind kind) {
    static constexpr std::array<std::string_view, 5> kNames{
        "kernel", "communication", "wait", "host", "others"};
    return kNames[static_cast<std::size_t>(kind)];
}

std::vector<StepPart> parts_of_step(const Program& program, const StepTimes& step) {
    Sweep sweep;
    std::map<PartKey, std::pair<double, double>> parts;  // runs, seconds
    const auto clipped = [&](Time time) { return std::clamp(time, step.begin, step.end); };
    for (std::size_t i = 0; i < step.ops.size(); ++i) {
        const TracedOp& traced = step.ops[i];
        const RoleId of = program.role_of(traced.rank);
        const Role& role = program.roles[index(of)];
        const Op& op = program.segment_of(role.slots[traced.slot]).ops[traced.op];
        const PartKind kind =
            op.kind() == OpKind::kernel ? PartKind::kernel : PartKind::communication;
        const std::string part = name_of(program, of, op);
        const Time data = std::min(traced.data_start, traced.end);
        sweep.add({PartKind::wait, 0, "wait for peers", clipped(traced.start), clipped(data)});
        const Time done = std::max(traced.end - step.host_per_op, data);
        const Time own = std::max(step.lost.empty() ? done : done - step.lost[i], data);
        sweep.add({kind, 0, part, clipped(data), clipped(own)});
        sweep.add({PartKind::others, 0, "other processes", clipped(own), clipped(done)});
        parts[{kind, part}].first += 1;
    }
    double named = 0;
    for (const auto& [key, seconds] : sweep.run()) {
        parts[key].second = seconds;
        named += seconds;
    }
    const double host = (step.end - step.begin).seconds() - named;
    const double waited = std::min(host, step.loss_wait.seconds());
    const double lost = std::min(host - waited, step.lost_outside.seconds());
    parts[{PartKind::wait, "wait for peers"}].second += waited;
    parts[{PartKind::others, "other processes"}].second += lost;
    parts[{PartKind::host, "host"}].second = host - waited - lost;
    return listed(parts);
}

std::vector<StepPart> mean_parts(const std::vector<std::vector<StepPart>>& lists) {
    std::map<PartKey, std::pair<double, double>> parts;
    const auto count = static_cast<double>(std::max<std::size_t>(lists.size(), 1));
    for (const std::vector<StepPart>& list : lists) {
        for (const StepPart& part : list) {
            auto& [runs, seconds] = parts[{part.kind, part.name}];
            runs += part.runs / count;
            seconds += part.seconds / count;
        }
    }
    return listed(parts);
}

}  // namespace orrery
