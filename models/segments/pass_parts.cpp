// SPDX-License-Identifier: Apache-2.0
#include "models/segments/pass_parts.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>

namespace orrery {
namespace {

bool exchanges_rows(const Program& program, const Op& op) {
    return op.kind() == OpKind::collective &&
           program.collective(op).kind == CollectiveKind::all_to_all && op.stream == kExpertStream;
}

bool holds_host(const Program& program, const Op& op) {
    return is_restart(program, op) && op.num_operands > 0;
}

// What precedes an exchange on its stream belongs to it: the gather of the map of tokens, and the
// host's read (Megatron-Core calls the whole dispatch on that stream: fine_grained_callables.py,
// submodule_dispatch_forward).
std::uint32_t begin_of_exchange(const std::vector<Op>& ops,
                                std::uint32_t after,
                                std::uint32_t exchange) {
    std::uint32_t begin = exchange;
    while (begin > after && ops[begin - 1].stream == kExpertStream) {
        --begin;
    }
    return begin;
}

// Where the parts begin, and the end of the last one.
std::vector<std::uint32_t> cuts_of_pass(const Program& program, const std::vector<Op>& ops) {
    std::vector<std::uint32_t> cuts{0};
    bool exchanged = false;
    for (std::uint32_t o = 0; o < ops.size(); ++o) {
        const bool exchanges = exchanges_rows(program, ops[o]);
        if (exchanged && ops[o].stream != kExpertStream) {
            cuts.push_back(o);
            exchanged = false;
        } else if (exchanges && !exchanged && o > cuts.back()) {
            cuts.push_back(begin_of_exchange(ops, cuts.back(), o));
        }
        exchanged |= exchanges;
    }
    cuts.push_back(static_cast<std::uint32_t>(ops.size()));
    const auto repeated = std::ranges::unique(cuts);
    cuts.erase(repeated.begin(), repeated.end());
    return cuts;
}

void keep_shared_tensors(Program& program,
                         const std::vector<Op>& ops,
                         const std::vector<std::uint32_t>& part_of) {
    std::map<TensorId, std::uint32_t> first_part;
    for (std::size_t o = 0; o < ops.size(); ++o) {
        for (std::uint32_t i = 0; i < ops[o].num_operands; ++i) {
            const TensorId tensor = program.operands[ops[o].first_operand + i].tensor;
            const auto [found, added] = first_part.emplace(tensor, part_of[o]);
            Tensor& used = program.tensors[index(tensor)];
            if (!added && found->second != part_of[o] && used.lifetime == Lifetime::slot) {
                used.lifetime = Lifetime::micro_batch;
            }
        }
    }
}

// An op's place in its pass and in the parts.
struct PlaceOfOp {
    std::uint32_t op = 0;
    std::uint32_t part = 0;
    const std::vector<std::uint32_t>& part_of;
    const std::vector<std::uint32_t>& cuts;
};

// The op with its waits on ops of its own part. Waits on others are added to `between`.
Op op_of_part(Program& program, Op op, const PlaceOfOp& place, std::vector<PartWait>& between) {
    const std::vector<std::uint32_t> waits(program.waits.begin() + op.first_wait,
                                           program.waits.begin() + op.first_wait + op.num_waits);
    op.first_wait = static_cast<std::uint32_t>(program.waits.size());
    op.num_waits = 0;
    const std::uint32_t first = place.cuts[place.part];
    for (const std::uint32_t on : waits) {
        const std::uint32_t earlier = place.part_of[on];
        if (earlier == place.part) {
            program.waits.push_back(on - first);
            ++op.num_waits;
        } else {
            between.push_back({.part = place.part,
                               .op = place.op - first,
                               .earlier_part = earlier,
                               .earlier_op = on - place.cuts[earlier]});
        }
    }
    return op;
}

}  // namespace

PassParts parts_of_pass(ProgramTables& tables, SegmentId segment, std::uint8_t calls) {
    Program& program = tables.program();
    const std::vector<Op> ops = program.segments[index(segment)].ops;
    const std::string name = program.segments[index(segment)].name;
    const std::vector<std::uint32_t> cuts = cuts_of_pass(program, ops);
    PassParts parts;
    if (cuts.size() <= 2) {
        parts.parts = {{.segment = segment}};
        return parts;
    }
    std::vector<std::uint32_t> part_of(ops.size());
    for (std::uint32_t part = 0; part + 1 < cuts.size(); ++part) {
        std::fill(part_of.begin() + cuts[part], part_of.begin() + cuts[part + 1], part);
    }
    keep_shared_tensors(program, ops, part_of);
    for (std::uint32_t part = 0, turn = 0; part + 1 < cuts.size(); ++part) {
        const auto own = std::span{ops}.subspan(cuts[part], cuts[part + 1] - cuts[part]);
        const auto is_exchange = [&](const Op& op) { return exchanges_rows(program, op); };
        const auto holds = [&](const Op& op) { return holds_host(program, op); };
        Segment cut{.name = name + " part " + std::to_string(part), .ops = {}};
        for (std::uint32_t o = cuts[part]; o < cuts[part + 1]; ++o) {
            cut.ops.push_back(op_of_part(program, ops[o], {o, part, part_of, cuts}, parts.waits));
        }
        std::uint8_t& launches = cut.ops.front().launches;
        launches = static_cast<std::uint8_t>(std::min(launches + calls, 255));
        const bool exchanges = std::ranges::any_of(own, is_exchange);
        parts.parts.push_back({.segment = to_id<SegmentId>(program.segments.size()),
                               .turn = turn,
                               .exchanges = exchanges,
                               .holds_host = exchanges && std::ranges::any_of(own, holds)});
        turn += exchanges ? 1 : 0;
        program.segments.push_back(std::move(cut));
    }
    return parts;
}

std::vector<PartOfPass> launch_order(const std::vector<const PassParts*>& passes) {
    std::vector<PartOfPass> order;
    std::vector<std::uint32_t> next(passes.size(), 0);
    std::vector<PartOfPass> held;
    const auto launch_held = [&] {
        order.insert(order.end(), held.begin(), held.end());
        held.clear();
    };
    std::uint32_t turns = 0;
    for (const PassParts* pass : passes) {
        turns = std::max(turns, pass->num_turns());
    }
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
        for (std::uint32_t p = 0; p < passes.size(); ++p) {
            const std::vector<PassPart>& parts = passes[p]->parts;
            for (; next[p] < parts.size() && parts[next[p]].turn == turn; ++next[p]) {
                const PassPart& part = parts[next[p]];
                const bool last = p + 1 == passes.size();
                if (part.exchanges || last) {
                    launch_held();
                }
                const bool waits = part.holds_host && last && p > 0;
                (waits ? held : order).push_back({p, next[p]});
            }
        }
    }
    launch_held();
    return order;
}

}  // namespace orrery
