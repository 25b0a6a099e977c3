// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/explain/layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <regex>
#include <set>

#include "models/plan/layout.h"

namespace orrery {
namespace {

constexpr const char* kBetweenSteps = "between steps";

std::string dimension_name(const Tensor& tensor, int dim) {
    if (!tensor.parameter.empty()) {
        return tensor.global_shape.size() > 2 && dim == 0   ? "experts"
               : dim + 2 == std::ssize(tensor.global_shape) ? "rows"
                                                            : "columns";
    }
    return dim == kSequence ? "sequence" : dim == kBatch ? "batch" : "width";
}

std::string placement_text(const Tensor& tensor, const Layout& layout, const Mesh& mesh) {
    std::string text;
    for (std::uint32_t digit = 0; digit < layout.size(); ++digit) {
        const DigitPlacement& placed = layout[digit];
        if (placed == replicated()) {
            continue;
        }
        text += (text.empty() ? "" : " ") + mesh.digits()[digit].name;
        switch (placed.placement) {
            case Placement::shard:
                text += "/" + dimension_name(tensor, placed.dim);
                text += placed.mirrored ? " (mirrored)" : "";
                text += placed.shift == 0 ? "" : fmt::format(" (of {} on)", placed.shift);
                break;
            case Placement::flat:
                text += "/elements";
                break;
            case Placement::partial:
                text += "+sum";
                break;
            case Placement::routed:
                text += "/experts";
                break;
            case Placement::replicate:
                break;
        }
    }
    return text.empty() ? "whole" : text;
}

std::string_view tier_name(MemoryTier tier) {
    constexpr std::array<std::string_view, kNumMemoryTiers> kNames{"HBM", "DRAM", "NVMe"};
    return kNames[static_cast<std::size_t>(tier)];
}

// Name with * for the number of the layer, because layers are alike.
std::string collapsed(const std::string& name) {
    static const std::regex kLayer{R"(layers\.[0-9]+\.)"};
    static const std::regex kPiece{R"(\[[0-9]+\]$)"};
    return std::regex_replace(std::regex_replace(name, kLayer, "layers.*."), kPiece, "");
}

// An op of a segment and the bytes that it moves on one rank.
struct Movement {
    SegmentId segment{};
    std::uint32_t op = 0;
    LayoutTransfer transfer;  // per execution
};

class LayoutReader {
public:
    LayoutReader(const Program& program, RoleId role)
        : program_(program),
          role_(program.roles[index(role)]),
          mesh_(program.mesh_of(role)),
          uses_(program.tensors.size()),
          times_(program.segments.size()) {}

    StageLayouts read() {
        for (const Slot& slot : role_.slots) {
            if (++times_[index(slot.segment)] == 1) {
                add_segment(slot);
            }
        }
        for (const std::uint32_t tensor : in_order_) {
            add_tensor(tensor);
        }
        StageLayouts result{.role = role_.name, .mesh = {}, .rows = {}};
        for (const MeshDigit& digit : mesh_.digits()) {
            result.mesh +=
                fmt::format("{}{} {}", result.mesh.empty() ? "" : ", ", digit.name, digit.size);
        }
        for (Draft& draft : drafts_) {
            for (const std::uint32_t movement : draft.movements) {
                add(draft.row.transfers, movements_[movement]);
            }
            result.rows.push_back(std::move(draft.row));
        }
        std::ranges::stable_sort(result.rows, {}, [](const LayoutRow& row) {
            return row.phase == kBetweenSteps ? 0 : 1;
        });
        return result;
    }

private:
    struct Uses {
        std::optional<Pass> first;             // pass that uses the tensor first
        std::vector<std::uint32_t> movements;  // ascending
    };
    struct Draft {
        LayoutRow row;
        std::set<std::uint32_t> movements;
        std::set<std::string> kinds;  // kinds of movements; rows with equal ones are merged
    };

    void add_segment(const Slot& slot) {
        const std::vector<Op>& ops = program_.segment_of(slot).ops;
        for (std::uint32_t i = 0; i < ops.size(); ++i) {
            const Op& op = ops[i];
            const auto first = static_cast<std::uint32_t>(movements_.size());
            add_movements(slot.segment, i);
            for (std::uint32_t o = 0; o < op.num_operands; ++o) {
                const Operand& operand = program_.operands[op.first_operand + o];
                Uses& uses = uses_[index(operand.tensor)];
                if (!uses.first) {
                    uses.first = slot.pass;
                    in_order_.push_back(static_cast<std::uint32_t>(index(operand.tensor)));
                }
                // A tensor that a transfer writes besides the one that it reads is the transfer's
                // other end.
                const bool other_end = operand.access == Access::write && reads(op);
                for (auto m = first; !other_end && m < movements_.size(); ++m) {
                    if (uses.movements.empty() || uses.movements.back() < m) {
                        uses.movements.push_back(m);
                    }
                }
            }
        }
    }

    bool reads(const Op& op) const {
        const auto* const operands = program_.operands.data() + op.first_operand;
        return std::any_of(operands, operands + op.num_operands, [](const Operand& operand) {
            return operand.access == Access::read;
        });
    }

    void add_movements(SegmentId segment, std::uint32_t position) {
        const Op& op = program_.segments[index(segment)].ops[position];
        const std::string name = collapsed(program_.names[op.name]);
        if (op.kind() == OpKind::collective) {
            const CollectiveCall& call = program_.collective(op);
            movements_.push_back({segment,
                                  position,
                                  {.name = name,
                                   .kind = std::string{orrery::name(call.kind)},
                                   .over = program_.groups[index(call.group)].name,
                                   .wire = call.wire,
                                   .bytes = call.bytes,
                                   .times = 1}});
        } else if (op.kind() == OpKind::copy) {
            const CopyCall& call = program_.copy(op);
            const Operand& first = program_.operands[op.first_operand];
            movements_.push_back(
                {segment,
                 position,
                 {.name = name,
                  .kind = "copy",
                  .over = fmt::format("{} to {}", tier_name(call.from), tier_name(call.to)),
                  .wire = program_.tensors[index(first.tensor)].dtype,
                  .bytes = call.bytes,
                  .times = 1}});
        } else if (op.kind() == OpKind::send_recv) {
            const Tensor& moved =
                program_.tensors[index(program_.operands[op.first_operand].tensor)];
            for (const SendRecvPart& part : program_.send_recv(op).parts) {
                movements_.push_back(
                    {segment,
                     position,
                     {.name = name,
                      .kind = part.is_send ? "send" : "receive",
                      .over =
                          part.peers >= 0
                              ? std::string{"other stages"}
                              : fmt::format("{} {:+}", mesh_.digits()[part.digit].name, part.delta),
                      .wire = moved.dtype,
                      .bytes = part.bytes,
                      .times = 1}});
            }
        }
    }

    // Adds one execution per slot of the op's segment.
    void add(std::vector<LayoutTransfer>& all, const Movement& movement) const {
        const std::int64_t times = times_[index(movement.segment)];
        LayoutTransfer one = movement.transfer;
        one.bytes = one.bytes * times;
        one.times = times;
        const auto known = std::ranges::find_if(all, [&](const LayoutTransfer& other) {
            return other.name == one.name && other.kind == one.kind && other.over == one.over &&
                   other.wire == one.wire;
        });
        if (known == all.end()) {
            all.push_back(std::move(one));
        } else {
            known->bytes += one.bytes;
            known->times += one.times;
        }
    }

    LayoutRow row_of(const Tensor& tensor, const Uses& uses) const {
        const bool persists = tensor.lifetime == Lifetime::persistent;
        return {.phase = persists ? kBetweenSteps : std::string{name(*uses.first)},
                .kind = tensor.kind,
                .tensors = {collapsed(tensor.name)},
                .placement = placement_text(tensor, tensor.layout, mesh_),
                .step_placement = tensor.step_layout.empty()
                                      ? std::string{}
                                      : placement_text(tensor, tensor.step_layout, mesh_),
                .tier = std::string{tier_name(tensor.tier)},
                .codec = tensor.dtype,
                .lifetime = tensor.lifetime,
                .bytes = tensor.bytes,
                .transfers = {}};
    }

    void add_tensor(std::uint32_t id) {
        const Uses& uses = uses_[id];
        LayoutRow row = row_of(program_.tensors[id], uses);
        std::set<std::string> kinds;
        for (const std::uint32_t movement : uses.movements) {
            const LayoutTransfer& t = movements_[movement].transfer;
            kinds.insert(fmt::format("{}|{}|{}", t.name, t.kind, t.over));
        }
        const auto alike = std::ranges::find_if(drafts_, [&](const Draft& draft) {
            const LayoutRow& known = draft.row;
            return known.phase == row.phase && known.kind == row.kind &&
                   known.placement == row.placement && known.step_placement == row.step_placement &&
                   known.codec == row.codec && known.lifetime == row.lifetime &&
                   draft.kinds == kinds;
        });
        if (alike == drafts_.end()) {
            drafts_.push_back({.row = std::move(row),
                               .movements = {uses.movements.begin(), uses.movements.end()},
                               .kinds = std::move(kinds)});
            return;
        }
        alike->row.bytes += row.bytes;
        alike->movements.insert(uses.movements.begin(), uses.movements.end());
        if (std::ranges::count(alike->row.tensors, row.tensors.front()) == 0) {
            alike->row.tensors.push_back(row.tensors.front());
        }
    }

    const Program& program_;
    const Role& role_;
    const Mesh& mesh_;
    std::vector<Uses> uses_;               // by tensor
    std::vector<std::int64_t> times_;      // slots of each segment
    std::vector<std::uint32_t> in_order_;  // tensors, by first use
    std::vector<Movement> movements_;
    std::vector<Draft> drafts_;
};

}  // namespace

StageLayouts layouts_of(const Program& program, RoleId role) {
    return LayoutReader{program, role}.read();
}

}  // namespace orrery
