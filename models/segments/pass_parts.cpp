// SPDX-License-Identifier: Apache-2.0
#include "models/segments/pass_parts.h"

#include <algorithm>
#include <map>
#include <utility>

namespace orrery {
namespace {

bool exchanges_rows(const Program& program, const Op& op) {
    return op.kind() == OpKind::collective &&
           program.collective(op).kind == CollectiveKind::all_to_all && op.stream == kExpertStream;
}

// The ends of the parts: positions after their last ops.
std::vector<std::uint32_t> ends_of_parts(const Program& program, const std::vector<Op>& ops) {
    std::vector<std::uint32_t> ends;
    bool exchanged = false;
    for (std::uint32_t o = 0; o < ops.size(); ++o) {
        if (exchanged && ops[o].stream != kExpertStream) {
            ends.push_back(o);
            exchanged = false;
        }
        exchanged |= exchanges_rows(program, ops[o]);
    }
    ends.push_back(static_cast<std::uint32_t>(ops.size()));
    return ends;
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

}  // namespace

PassParts parts_of_pass(ProgramTables& tables, SegmentId segment) {
    Program& program = tables.program();
    const std::vector<Op> ops = program.segments[index(segment)].ops;
    const std::string name = program.segments[index(segment)].name;
    const std::vector<std::uint32_t> ends = ends_of_parts(program, ops);
    PassParts parts;
    if (ends.size() == 1) {
        parts.segments = {segment};
        return parts;
    }
    std::vector<std::uint32_t> part_of(ops.size());
    std::vector<std::uint32_t> firsts;
    for (std::uint32_t part = 0, first = 0; part < ends.size(); first = ends[part++]) {
        firsts.push_back(first);
        std::fill(part_of.begin() + first, part_of.begin() + ends[part], part);
    }
    keep_shared_tensors(program, ops, part_of);
    for (std::uint32_t part = 0; part < ends.size(); ++part) {
        Segment cut{.name = name + " part " + std::to_string(part), .ops = {}};
        for (std::uint32_t o = firsts[part]; o < ends[part]; ++o) {
            Op op = ops[o];
            const std::vector<std::uint32_t> waits(
                program.waits.begin() + op.first_wait,
                program.waits.begin() + op.first_wait + op.num_waits);
            op.first_wait = static_cast<std::uint32_t>(program.waits.size());
            op.num_waits = 0;
            for (const std::uint32_t on : waits) {
                if (part_of[on] == part) {
                    program.waits.push_back(on - firsts[part]);
                    ++op.num_waits;
                } else {
                    parts.waits.push_back({.part = part,
                                           .op = o - firsts[part],
                                           .earlier_part = part_of[on],
                                           .earlier_op = on - firsts[part_of[on]]});
                }
            }
            cut.ops.push_back(op);
        }
        parts.segments.push_back(to_id<SegmentId>(program.segments.size()));
        program.segments.push_back(std::move(cut));
    }
    return parts;
}

}  // namespace orrery
