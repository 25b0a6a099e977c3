// SPDX-License-Identifier: Apache-2.0
#include "models/segments/stage_messages.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/program/verifier.h"
#include "models/lowering/lowering.h"
#include "models/plan/validate_plan.h"
#include "tests/models/staged_plans.h"

namespace orrery {
namespace {

// The part of the sequence that a message holds, in units of 1 / (largest tp x cp x pieces).
struct Span {
    std::int64_t first = 0;
    std::int64_t count = 0;
    bool operator==(const Span&) const = default;
};

// Every element that a stage needs comes from the rank that has it, once.
TEST(StageMessages, HoldWhatTheReceiverNeeds) {
    for (const auto& sizes : std::vector<std::vector<std::int64_t>>{
             {2, 1}, {1, 2}, {4, 1, 2}, {2, 8, 8, 1}, {1, 4, 2, 1}}) {
        ParallelPlan plan = staged_plan(sizes, 3);
        plan.context_parallel_size = 2;
        const Transformer model = untied_model();
        ASSERT_TRUE(check(model, plan, plan.model_parallel_size() * 3).empty())
            << check(model, plan, plan.model_parallel_size() * 3).front().to_string();
        const Program program = lower(model, plan);
        ASSERT_TRUE(verify(program).empty()) << verify(program).front().to_string();
        std::map<std::pair<RankId, RankId>, Span> sent;
        std::map<std::pair<RankId, RankId>, Span> received;
        for (std::uint32_t r = 0; r < program.num_ranks(); ++r) {
            const auto rank = to_id<RankId>(r);
            const Mesh& mesh = program.mesh_of(rank);
            const std::int64_t tp = mesh.combined_size(mesh.axis("tp"));
            const std::int64_t t = mesh.combined_coordinate(rank, mesh.axis("tp"));
            std::set<std::string> seen;
            for (const Slot& slot : program.roles[index(program.role_of(rank))].slots) {
                for (const Op& op : program.segment_of(slot).ops) {
                    const std::string& name = program.names[op.name];
                    if (op.kind() != OpKind::send_recv || name.find("forward") == name.npos ||
                        !seen.insert(name).second) {
                        continue;
                    }
                    for (const SendRecvPart& part : program.send_recv(op).parts) {
                        const std::int64_t own = 64 / tp;
                        const Span span{t * own + own / part.pieces * part.piece,
                                        own / part.pieces};
                        const RankId peer = program.peer_of(rank, part);
                        const auto key =
                            part.is_send ? std::pair{rank, peer} : std::pair{peer, rank};
                        auto& side = part.is_send ? sent : received;
                        EXPECT_TRUE(side.emplace(key, span).second);
                    }
                }
            }
        }
        EXPECT_EQ(sent, received);
        std::map<RankId, std::int64_t> whole;
        for (const auto& [ranks, span] : received) {
            whole[ranks.second] += span.count;
        }
        for (const auto& [rank, count] : whole) {
            const Mesh& mesh = program.mesh_of(rank);
            EXPECT_EQ(count * mesh.combined_size(mesh.axis("tp")), 64);
            EXPECT_EQ(whole.count(rank), 1U);
        }
    }
}

}  // namespace
}  // namespace orrery
