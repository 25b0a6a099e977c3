// SPDX-License-Identifier: Apache-2.0
#include "models/memory/tensor_lifetimes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "models/lowering/lowering.h"
#include "tests/models/drawn_plans.h"

namespace orrery {
namespace {

// First and last slot of each instance, op by op.
std::map<TensorInstance, std::pair<std::uint32_t, std::uint32_t>> slots_of_instances(
    const Program& program, const Role& role) {
    std::map<TensorInstance, std::pair<std::uint32_t, std::uint32_t>> slots;
    for (std::uint32_t s = 0; s < role.slots.size(); ++s) {
        for (const Op& op : program.segment_of(role.slots[s]).ops) {
            for (std::uint32_t i = 0; i < op.num_operands; ++i) {
                const TensorId id = program.operands[op.first_operand + i].tensor;
                const Lifetime lifetime = program.tensors[index(id)].lifetime;
                if (lifetime != Lifetime::slot) {
                    const bool batch = lifetime == Lifetime::micro_batch;
                    const TensorInstance key{id, batch ? role.slots[s].micro_batch : -1};
                    slots.try_emplace(key, s, s).first->second.second = s;
                }
            }
        }
    }
    return slots;
}

TEST(TensorLifetimes, CoverEveryUseAndNoMore) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        SCOPED_TRACE(d.text());
        const Program program = lower(d.model, d.plan);
        for (std::size_t r = 0; r < program.roles.size(); ++r) {
            auto expected = slots_of_instances(program, program.roles[r]);
            const RoleLifetimes lifetimes = tensor_lifetimes(program, to_id<RoleId>(r));
            for (const TensorInstance& instance : lifetimes.whole_step) {
                const Tensor& tensor = program.tensors[index(instance.first)];
                EXPECT_TRUE(tensor.lifetime == Lifetime::persistent || tensor.input ||
                            (tensor.lifetime == Lifetime::step && !is_passing_gradient(tensor)))
                    << tensor.name;
                EXPECT_EQ(expected.erase(instance), 1U) << tensor.name;
            }
            for (const TensorBlock& block : lifetimes.blocks) {
                for (const TensorId id : lifetimes.groups[block.group].tensors) {
                    const auto found = expected.find({id, block.micro_batch});
                    ASSERT_NE(found, expected.end()) << program.tensors[index(id)].name;
                    EXPECT_EQ(found->second, (std::pair{block.begin, block.end}));
                    expected.erase(found);
                }
            }
            EXPECT_TRUE(expected.empty());
            EXPECT_TRUE(std::is_sorted(
                lifetimes.blocks.begin(),
                lifetimes.blocks.end(),
                [](const TensorBlock& a, const TensorBlock& b) { return a.begin < b.begin; }));
        }
    }
}

TEST(TensorLifetimes, GroupsAddUpAndMicroBatchesShareThem) {
    const DrawnPlan d = drawn_plan(3);
    const Program program = lower(d.model, d.plan);
    const RoleLifetimes lifetimes = tensor_lifetimes(program, RoleId{0});
    for (const TensorGroup& group : lifetimes.groups) {
        Bytes sum;
        for (const TensorId id : group.tensors) {
            sum += program.tensors[index(id)].bytes;
        }
        EXPECT_EQ(sum, group.bytes.total());
    }
    if (d.plan.num_micro_batches() > 4) {
        EXPECT_LT(lifetimes.groups.size(), lifetimes.blocks.size());
    }
}

TEST(TensorLifetimes, TheMostOfASlotIsWhatLivesAtOneOfItsOps) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        const Program program = lower(d.model, d.plan);
        for (const auto& [id, tensors] : tensor_lifetimes(program, RoleId{0}).segments) {
            Bytes most;
            for (std::uint32_t o = 0; o < program.segments[index(id)].ops.size(); ++o) {
                Bytes alive;
                for (const SegmentTensors::Span& span : tensors.own) {
                    alive += span.first <= o && o <= span.last
                                 ? program.tensors[index(span.tensor)].bytes
                                 : Bytes{};
                }
                most = std::max(most, alive);
            }
            const OwnPeak peak = own_peak(program, tensors, 0, tensors.own_bytes.size());
            EXPECT_EQ(most, peak.bytes.total()) << d.text();
            Bytes named;
            for (const TensorId t : peak.tensors) {
                named += program.tensors[index(t)].bytes;
            }
            EXPECT_EQ(named, most) << d.text();
        }
    }
}

// No op behind a release uses what it frees, and each release makes its slot need less.
TEST(TensorLifetimes, ReleasesFreeWhatNoLaterOpOfTheSlotUses) {
    int releases = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        SCOPED_TRACE(d.text());
        const Program program = lower(d.model, d.plan);
        for (std::size_t r = 0; r < program.roles.size(); ++r) {
            const Role& role = program.roles[r];
            const RoleLifetimes lifetimes = tensor_lifetimes(program, to_id<RoleId>(r));
            for (const TensorBlock& block : lifetimes.blocks) {
                if (!block.released) {
                    continue;
                }
                const std::uint32_t release = lifetimes.releases[block.end];
                const SegmentTensors& segment =
                    lifetimes.segments.at(role.slots[block.end].segment);
                const std::size_t ops = segment.own_bytes.size();
                ASSERT_GT(release, 0U);
                EXPECT_LT(own_peak(program, segment, 0, release).bytes.total(),
                          own_peak(program, segment, release, ops).bytes.total());
                ++releases;
                for (const SegmentTensors::Span& span : segment.micro_batch) {
                    if (std::ranges::count(lifetimes.groups[block.group].tensors, span.tensor) >
                        0) {
                        EXPECT_LT(span.last, release) << program.tensors[index(span.tensor)].name;
                    }
                }
            }
        }
    }
    EXPECT_GT(releases, 10);
}

}  // namespace
}  // namespace orrery
