// SPDX-License-Identifier: Apache-2.0
#include "models/memory/tensor_lifetimes.h"

#include <algorithm>
#include <set>

namespace orrery {
namespace {

// Finds the op at which a segment's own tensors need most bytes.
void find_peak(const Program& program, std::size_t num_ops, SegmentTensors& tensors) {
    std::vector<std::vector<TensorId>> starts(num_ops);
    std::vector<std::vector<TensorId>> ends(num_ops);
    for (const SegmentTensors::Span& span : tensors.own) {
        starts[span.first].push_back(span.tensor);
        ends[span.last].push_back(span.tensor);
    }
    MemoryByKind now;
    std::size_t peak_op = num_ops;
    for (std::size_t o = 0; o < num_ops; ++o) {
        for (const TensorId t : starts[o]) {
            now[program.tensors[index(t)].kind] += program.tensors[index(t)].bytes;
        }
        if (now.total() > tensors.own_peak.total()) {
            tensors.own_peak = now;
            peak_op = o;
        }
        for (const TensorId t : ends[o]) {
            now[program.tensors[index(t)].kind] -= program.tensors[index(t)].bytes;
        }
    }
    for (const SegmentTensors::Span& span : tensors.own) {
        if (span.first <= peak_op && peak_op <= span.last) {
            tensors.own_at_peak.push_back(span.tensor);
        }
    }
}

SegmentTensors used_tensors(const Program& program, const Segment& segment) {
    std::vector<std::pair<TensorId, std::uint32_t>> uses;  // tensor and op
    for (std::uint32_t o = 0; o < segment.ops.size(); ++o) {
        const Op& op = segment.ops[o];
        for (std::uint32_t i = 0; i < op.num_operands; ++i) {
            const TensorId tensor = program.operands[op.first_operand + i].tensor;
            if (program.tensors[index(tensor)].tier == MemoryTier::hbm) {
                uses.emplace_back(tensor, o);
            }
        }
    }
    std::ranges::sort(uses);
    SegmentTensors tensors;
    for (std::size_t begin = 0, end = 0; begin < uses.size(); begin = end) {
        const TensorId t = uses[begin].first;
        while (end < uses.size() && uses[end].first == t) {
            ++end;
        }
        switch (program.tensors[index(t)].lifetime) {
            case Lifetime::slot:
                tensors.own.push_back({t, uses[begin].second, uses[end - 1].second});
                break;
            case Lifetime::micro_batch:
                tensors.micro_batch.push_back(t);
                break;
            default:
                tensors.longer_lived.push_back(t);
        }
    }
    find_peak(program, segment.ops.size(), tensors);
    return tensors;
}

class LifetimesBuilder {
public:
    LifetimesBuilder(const Program& program, const Role& role) : program_(program), role_(role) {}

    RoleLifetimes build() {
        const auto& slots = role_.slots;
        std::map<std::int32_t, std::vector<std::uint32_t>> slots_of;  // by micro-batch
        for (std::uint32_t s = 0; s < slots.size(); ++s) {
            if (!result_.segments.contains(slots[s].segment)) {
                result_.segments[slots[s].segment] =
                    used_tensors(program_, program_.segment_of(slots[s]));
            }
            slots_of[slots[s].micro_batch].push_back(s);
        }
        for (const auto& [micro_batch, own] : slots_of) {
            add_micro_batch(micro_batch, own);
        }
        add_longer_lived();
        result_.whole_step.assign(whole_step_.begin(), whole_step_.end());
        std::ranges::stable_sort(result_.blocks, {}, &TensorBlock::begin);
        return std::move(result_);
    }

private:
    // The first and the last of a set of slots.
    struct Reach {
        std::uint32_t first = UINT32_MAX;
        std::uint32_t last = 0;
        void take(std::uint32_t at) {
            first = std::min(first, at);
            last = std::max(last, at);
        }
        auto operator<=>(const Reach&) const = default;
    };
    struct ReachedGroup {
        Reach reach;  // positions among the slots of a micro-batch
        std::uint32_t group = 0;
    };

    const Tensor& tensor_of(TensorId id) const { return program_.tensors[index(id)]; }

    std::uint32_t add_group(std::vector<TensorId> tensors) {
        TensorGroup group{.tensors = std::move(tensors), .bytes = {}};
        for (const TensorId t : group.tensors) {
            group.bytes[tensor_of(t).kind] += tensor_of(t).bytes;
        }
        result_.groups.push_back(std::move(group));
        return static_cast<std::uint32_t>(result_.groups.size() - 1);
    }

    std::vector<ReachedGroup> grouped(const std::map<TensorId, Reach>& reaches) {
        std::map<Reach, std::vector<TensorId>> alike;
        for (const auto& [tensor, reach] : reaches) {
            alike[reach].push_back(tensor);
        }
        std::vector<ReachedGroup> groups;
        for (auto& [reach, tensors] : alike) {
            groups.push_back({reach, add_group(std::move(tensors))});
        }
        return groups;
    }

    void add_micro_batch(std::int32_t micro_batch, const std::vector<std::uint32_t>& own) {
        std::vector<SegmentId> passed;
        for (const std::uint32_t s : own) {
            passed.push_back(role_.slots[s].segment);
        }
        auto known = groups_of_.find(passed);
        if (known == groups_of_.end()) {
            std::map<TensorId, Reach> reaches;
            for (std::uint32_t p = 0; p < passed.size(); ++p) {
                for (const TensorId t : result_.segments[passed[p]].micro_batch) {
                    if (!tensor_of(t).input) {
                        reaches[t].take(p);
                    }
                }
            }
            known = groups_of_.emplace(passed, grouped(reaches)).first;
        }
        for (const ReachedGroup& g : known->second) {
            result_.blocks.push_back({g.group, micro_batch, own[g.reach.first], own[g.reach.last]});
        }
        for (const SegmentId segment : passed) {
            for (const TensorId t : result_.segments[segment].micro_batch) {
                if (tensor_of(t).input) {
                    whole_step_.insert({t, micro_batch});
                }
            }
        }
    }

    void add_longer_lived() {
        std::map<SegmentId, Reach> slots;
        for (std::uint32_t s = 0; s < role_.slots.size(); ++s) {
            slots[role_.slots[s].segment].take(s);
        }
        std::map<TensorId, Reach> passing;
        for (const auto& [segment, reach] : slots) {
            for (const TensorId t : result_.segments[segment].longer_lived) {
                if (is_passing_gradient(tensor_of(t))) {
                    passing[t].take(reach.first);
                    passing[t].take(reach.last);
                } else {
                    whole_step_.insert({t, -1});
                }
            }
        }
        for (const ReachedGroup& g : grouped(passing)) {
            result_.blocks.push_back({g.group, -1, g.reach.first, g.reach.last});
        }
    }

    const Program& program_;
    const Role& role_;
    RoleLifetimes result_;
    std::map<std::vector<SegmentId>, std::vector<ReachedGroup>> groups_of_;
    std::set<TensorInstance> whole_step_;
};

}  // namespace

Bytes MemoryByKind::total() const {
    Bytes sum;
    for (const Bytes b : of) {
        sum += b;
    }
    return sum;
}

MemoryByKind& MemoryByKind::operator+=(const MemoryByKind& other) {
    for (std::size_t k = 0; k < kNumTensorKinds; ++k) {
        of[k] += other.of[k];
    }
    return *this;
}

MemoryByKind& MemoryByKind::operator-=(const MemoryByKind& other) {
    for (std::size_t k = 0; k < kNumTensorKinds; ++k) {
        of[k] -= other.of[k];
    }
    return *this;
}

bool is_passing_gradient(const Tensor& tensor) {
    return tensor.lifetime == Lifetime::step && tensor.kind == TensorKind::gradients;
}

RoleLifetimes tensor_lifetimes(const Program& program, RoleId role) {
    return LifetimesBuilder{program, program.roles[index(role)]}.build();
}

}  // namespace orrery
