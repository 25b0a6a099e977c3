// SPDX-License-Identifier: Apache-2.0
#include "models/memory/tensor_lifetimes.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace orrery {
namespace {

// The bytes of the tensors of a slot that live at each op.
std::vector<Bytes> bytes_by_op(const Program& program,
                               std::size_t num_ops,
                               const std::vector<SegmentTensors::Span>& own) {
    std::vector<Bytes> change(num_ops + 1);
    for (const SegmentTensors::Span& span : own) {
        change[span.first] += program.tensors[index(span.tensor)].bytes;
        change[span.last + 1] -= program.tensors[index(span.tensor)].bytes;
    }
    std::partial_sum(change.begin(), change.end(), change.begin());
    change.pop_back();
    return change;
}

// The number of ops after which a slot should release those of its `ending` tensors that it no
// longer uses, so that it needs least; 0 if no release makes it need less.
std::uint32_t best_release(const Program& program,
                           const std::vector<Bytes>& own,
                           std::vector<SegmentTensors::Span> ending) {
    if (own.empty() || ending.empty()) {
        return 0;
    }
    std::vector<Bytes> most_from(own.size() + 1);  // of the ops from each on
    for (std::size_t o = own.size(); o > 0; --o) {
        most_from[o - 1] = std::max(most_from[o], own[o - 1]);
    }
    std::ranges::sort(ending, {}, &SegmentTensors::Span::last);
    Bytes living;
    for (const SegmentTensors::Span& span : ending) {
        living += program.tensors[index(span.tensor)].bytes;
    }
    const Bytes all = living;
    Bytes least = all + most_from[0];
    std::uint32_t best = 0;
    Bytes most_before;
    std::uint32_t ops = 0;
    for (std::size_t e = 0; e < ending.size(); ++e) {
        living -= program.tensors[index(ending[e].tensor)].bytes;
        if (e + 1 < ending.size() && ending[e + 1].last == ending[e].last) {
            continue;
        }
        for (; ops <= ending[e].last; ++ops) {
            most_before = std::max(most_before, own[ops]);
        }
        const Bytes needed = std::max(all + most_before, living + most_from[ops]);
        if (needed < least) {
            least = needed;
            best = ops;
        }
    }
    return best;
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
                tensors.micro_batch.push_back({t, uses[begin].second, uses[end - 1].second});
                break;
            default:
                tensors.longer_lived.push_back(t);
        }
    }
    tensors.own_bytes = bytes_by_op(program, segment.ops.size(), tensors.own);
    return tensors;
}

class LifetimesBuilder {
public:
    LifetimesBuilder(const Program& program, const Role& role) : program_(program), role_(role) {}

    RoleLifetimes build() {
        const auto& slots = role_.slots;
        result_.releases.assign(slots.size(), 0);
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
        std::ranges::stable_sort(result_.blocks, {}, [](const TensorBlock& block) {
            return std::pair{block.begin, block.released};
        });
        return std::move(result_);
    }

private:
    // The first and the last of a set of slots.
    struct Reach {
        std::uint32_t first = UINT32_MAX;
        std::uint32_t last = 0;
        bool released = false;  // in the last slot
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
    struct Passage {
        std::vector<ReachedGroup> groups;
        std::vector<std::uint32_t> releases;  // by position, as RoleLifetimes::releases
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

    // The tensors of a micro-batch that passes these segments.
    Passage passage_of(const std::vector<SegmentId>& passed) {
        std::map<TensorId, Reach> reaches;
        for (std::uint32_t p = 0; p < passed.size(); ++p) {
            for (const SegmentTensors::Span& span : result_.segments[passed[p]].micro_batch) {
                if (!tensor_of(span.tensor).input) {
                    reaches[span.tensor].take(p);
                }
            }
        }
        Passage passage;
        for (std::uint32_t p = 0; p < passed.size(); ++p) {
            const SegmentTensors& segment = result_.segments[passed[p]];
            std::vector<SegmentTensors::Span> ending;
            std::ranges::copy_if(segment.micro_batch, std::back_inserter(ending), [&](auto& span) {
                const auto found = reaches.find(span.tensor);
                return found != reaches.end() && found->second.last == p;
            });
            const std::uint32_t ops = best_release(program_, segment.own_bytes, ending);
            passage.releases.push_back(ops);
            for (const SegmentTensors::Span& span : ending) {
                reaches[span.tensor].released = span.last < ops;
            }
        }
        passage.groups = grouped(reaches);
        return passage;
    }

    void add_micro_batch(std::int32_t micro_batch, const std::vector<std::uint32_t>& own) {
        std::vector<SegmentId> passed;
        for (const std::uint32_t s : own) {
            passed.push_back(role_.slots[s].segment);
        }
        auto known = passages_.find(passed);
        if (known == passages_.end()) {
            known = passages_.emplace(passed, passage_of(passed)).first;
        }
        for (const ReachedGroup& g : known->second.groups) {
            result_.blocks.push_back({.group = g.group,
                                      .micro_batch = micro_batch,
                                      .begin = own[g.reach.first],
                                      .end = own[g.reach.last],
                                      .released = g.reach.released});
        }
        for (std::size_t p = 0; p < own.size(); ++p) {
            result_.releases[own[p]] = known->second.releases[p];
            for (const SegmentTensors::Span& span : result_.segments[passed[p]].micro_batch) {
                if (tensor_of(span.tensor).input) {
                    whole_step_.insert({span.tensor, micro_batch});
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
            result_.blocks.push_back(
                {.group = g.group, .begin = g.reach.first, .end = g.reach.last});
        }
    }

    const Program& program_;
    const Role& role_;
    RoleLifetimes result_;
    std::map<std::vector<SegmentId>, Passage> passages_;
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

OwnPeak own_peak(const Program& program,
                 const SegmentTensors& segment,
                 std::size_t first,
                 std::size_t behind) {
    OwnPeak peak;
    if (first >= behind) {
        return peak;
    }
    const auto begin = segment.own_bytes.begin();
    const auto most = std::max_element(begin + static_cast<std::ptrdiff_t>(first),
                                       begin + static_cast<std::ptrdiff_t>(behind));
    const auto op = static_cast<std::uint32_t>(most - begin);
    for (const SegmentTensors::Span& span : segment.own) {
        if (span.first <= op && op <= span.last) {
            const Tensor& tensor = program.tensors[index(span.tensor)];
            peak.bytes[tensor.kind] += tensor.bytes;
            peak.tensors.push_back(span.tensor);
        }
    }
    return peak;
}

bool is_passing_gradient(const Tensor& tensor) {
    return tensor.lifetime == Lifetime::step && tensor.kind == TensorKind::gradients;
}

RoleLifetimes tensor_lifetimes(const Program& program, RoleId role) {
    return LifetimesBuilder{program, program.roles[index(role)]}.build();
}

}  // namespace orrery
