// SPDX-License-Identifier: Apache-2.0
// Against the messages between processes that CollectiveOps sends: the same op on the same values.
#include "runtime/cuda/nccl_transfer.h"

#include <gtest/gtest.h>

#include <deque>
#include <mutex>
#include <set>

#include "models/lowering/lowering.h"
#include "runtime/collective_ops.h"
#include "runtime/state/parameter_shards.h"
#include "tests/models/drawn_plans.h"
#include "tests/runtime/communication/local_ranks.h"
#include "tests/runtime/cuda/nccl_in_one_process.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

// The operands of one op on one rank, with values that follow from (op, rank, element).
class OpMemory {
public:
    OpMemory(const Program& program, const Op& op, std::uint32_t rank) {
        std::map<TensorId, std::size_t> known;
        for (std::uint32_t i = 0; i < op.num_operands; ++i) {
            const Operand& operand = program.operands[op.first_operand + i];
            const Tensor& tensor = program.tensors[index(operand.tensor)];
            const auto [place, fresh] = known.try_emplace(operand.tensor, bytes_.size());
            const TensorView view = {
                fresh ? bytes_.emplace_back(static_cast<std::size_t>(tensor.bytes.count())).data()
                      : bytes_[place->second].data(),
                tensor.dtype,
                tensor.bytes.count() / size_bytes(tensor.dtype)};
            for (std::int64_t e = 0; fresh && e < view.size; ++e) {
                store(view, e, static_cast<float>((e * 7 + rank * 5 + i * 3) % 17) - 8.0f);
            }
            auto& list = operand.access == Access::read    ? bound.reads
                         : operand.access == Access::write ? bound.writes
                                                           : bound.accumulates;
            list.push_back({.view = view, .tensor = &tensor});
        }
    }
    BoundTransfer bound;

private:
    std::deque<std::vector<std::byte>> bytes_;
};

// What an op leaves: elements of its results that are not void.
std::vector<float> results(const Program& program, const Op& op, std::uint32_t rank, OpMemory& m) {
    std::vector<float> values;
    const CollectiveCall& call = program.collective(op);
    const auto members =
        program.mesh().members(program.groups[index(call.group)], static_cast<RankId>(rank));
    const auto position = std::ranges::find(members, static_cast<RankId>(rank)) - members.begin();
    const bool parts = m.bound.reads.empty() && call.kind == CollectiveKind::reduce_scatter;
    for (const auto* list : {&m.bound.writes, &m.bound.accumulates}) {
        for (const BoundOperand& operand : *list) {
            const ElementRange range =
                parts ? shard_range(
                            operand.view.size, static_cast<std::int64_t>(members.size()), position)
                      : ElementRange{0, operand.view.size};
            for (std::int64_t e = 0; e < range.count; ++e) {
                values.push_back(load(operand.view, range.first + e));
            }
        }
    }
    return values;
}

std::vector<const Op*> collectives_of(const Program& program) {
    std::vector<const Op*> ops;
    std::set<std::vector<std::uint32_t>> seen;  // one of a kind is enough
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            std::vector<std::uint32_t> kind{op.payload.number(), op.num_operands};
            bool floats = true;  // that the host can add
            for (std::uint32_t i = 0; i < op.num_operands; ++i) {
                const Operand& o = program.operands[op.first_operand + i];
                kind.push_back(static_cast<std::uint32_t>(o.access));
                kind.push_back(static_cast<std::uint32_t>(o.piece));
                const Tensor& tensor = program.tensors[index(o.tensor)];
                floats = floats && (tensor.dtype == Dtype::fp32 || tensor.dtype == Dtype::bf16);
                kind.push_back(static_cast<std::uint32_t>(tensor.bytes.count()));
                kind.push_back(tensor.parameter.empty() ? 0 : 1);
            }
            if (op.kind() == OpKind::collective && floats && seen.insert(kind).second) {
                ops.push_back(&op);
            }
        }
    }
    return ops;
}

using ResultsByRank = std::vector<std::vector<float>>;

ResultsByRank by_nccl(const Program& program, const Op& op) {
    ResultsByRank all(program.num_ranks());
    std::vector<bool> done(program.num_ranks(), false);
    for (std::uint32_t first = 0; first < program.num_ranks(); ++first) {
        const auto of = communicators_of(program, static_cast<RankId>(first), op);
        if (done[first] || of.empty()) {
            continue;
        }
        std::deque<OpMemory> memory;
        std::deque<std::vector<std::byte>> staging;
        std::vector<NcclTransfer> plans;
        for (const std::uint32_t rank : of[0].ranks) {
            OpMemory& own = memory.emplace_back(program, op, rank);
            const auto id = static_cast<RankId>(rank);
            const NcclTransfer sizes = nccl_transfer(program, id, op, own.bound, nullptr);
            staging.emplace_back(static_cast<std::size_t>(sizes.staging_bytes));
            plans.push_back(nccl_transfer(program, id, op, own.bound, staging.back().data()));
            EXPECT_EQ(plans.back().communicators, communicators_of(program, id, op));
            done[rank] = true;
        }
        NcclInOneProcess::run(plans);
        for (std::size_t m = 0; m < plans.size(); ++m) {
            all[of[0].ranks[m]] = results(program, op, of[0].ranks[m], memory[m]);
        }
    }
    return all;
}

void expect_equal_results(const Program& program, const std::string& text, std::set<int>& kinds) {
    const std::vector<const Op*> ops = collectives_of(program);
    std::vector<ResultsByRank> expected(ops.size(), ResultsByRank(program.num_ranks()));
    std::vector<bool> refused(ops.size(), false);
    std::mutex mutex;
    run_as_ranks(program.num_ranks(), [&](std::unique_ptr<Transport> transport) {
        const std::uint32_t rank = transport->rank();
        CollectiveOps collective{program, static_cast<RankId>(rank), *transport};
        for (std::size_t i = 0; i < ops.size(); ++i) {
            if (communicators_of(program, static_cast<RankId>(rank), *ops[i]).empty()) {
                continue;
            }
            if (!why_not_nccl(program, static_cast<RankId>(rank), *ops[i]).empty() ||
                !collective.why_not(*ops[i]).empty()) {
                const std::lock_guard lock{mutex};
                refused[i] = true;
                continue;
            }
            OpMemory own{program, *ops[i], rank};
            ASSERT_TRUE(collective.run(*ops[i], own.bound)) << text;
            std::vector<float> values = results(program, *ops[i], rank, own);
            const std::lock_guard lock{mutex};
            expected[i][rank] = std::move(values);
        }
    });
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (!refused[i]) {
            EXPECT_EQ(by_nccl(program, *ops[i]), expected[i])
                << text << ": " << program.names[ops[i]->name];
            const CollectiveCall& call = program.collective(*ops[i]);
            const bool lists = program.operands[ops[i]->first_operand].access != Access::read;
            kinds.insert(static_cast<int>(call.kind) * 2 + (lists ? 1 : 0));
        }
    }
}

TEST(NcclTransfer, CollectivesMoveWhatMessagesBetweenProcessesMove) {
    std::set<int> kinds;
    int programs = 0;
    for (std::uint64_t seed = 0; programs < 14; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        if (d.plan.model_parallel_size() * d.plan.data_parallel_size > 8) {
            continue;
        }
        expect_equal_results(lower(d.model, d.plan), d.text(), kinds);
        ++programs;
    }
    EXPECT_GE(kinds.size(), 5u);
}

// Pieces of what is gathered or scattered have a block of each rank.
TEST(NcclTransfer, PiecesMoveAsBetweenProcesses) {
    ParallelPlan plan = tiny_plan();
    plan.tensor_model_parallel_size = 4;
    plan.sequence_parallel = true;
    plan.tp_comm_overlap = true;
    plan.tp_comm_overlap_chunks = 2;
    Transformer model = tiny_gpt();
    model.num_attention_heads = model.num_query_groups = 4;
    model.kv_channels = 4;
    const Program program = lower(model, plan);
    for (const Op* op : collectives_of(program)) {
        EXPECT_EQ(why_not_nccl(program, RankId{1}, *op), "") << program.names[op->name];
    }
    std::set<int> kinds;
    expect_equal_results(program, "4 ranks, 2 pieces", kinds);
    EXPECT_TRUE(kinds.contains(2 * static_cast<int>(CollectiveKind::all_gather)));
    EXPECT_TRUE(kinds.contains(2 * static_cast<int>(CollectiveKind::reduce_scatter)));
}

// Query heads, key heads and value heads are each cut over the ranks that exchange them.
TEST(NcclTransfer, AHeadExchangeMovesEveryPartOfPackedColumns) {
    ParallelPlan plan = tiny_plan();
    plan.tensor_model_parallel_size = 2;
    plan.context_parallel_size = 2;
    plan.context_parallel_comm = ContextParallelComm::all_to_all;
    Transformer model = tiny_llama();
    model.num_attention_heads = 8;
    model.num_query_groups = 4;
    model.kv_channels = 4;
    const Program program = lower(model, plan);
    for (const Op* op : collectives_of(program)) {
        EXPECT_EQ(why_not_nccl(program, RankId{1}, *op), "") << program.names[op->name];
    }
    std::set<int> kinds;
    expect_equal_results(program, "4 ranks, packed columns", kinds);
    EXPECT_TRUE(kinds.contains(2 * static_cast<int>(CollectiveKind::all_to_all)));
}

// Of the only key-value head and of one of two; with the sequence apart, too.
TEST(NcclTransfer, RanksThatShareAKeyValueHeadGatherItsKeysAndItsValues) {
    for (const std::int64_t groups : {1, 2}) {
        ParallelPlan plan = tiny_plan();
        plan.tensor_model_parallel_size = 4;
        plan.context_parallel_size = 2;
        Transformer model = tiny_llama();
        model.num_attention_heads = 4;
        model.num_query_groups = groups;
        const Program program = lower(model, plan);
        int packed = 0;
        for (const Op* op : collectives_of(program)) {
            EXPECT_EQ(why_not_nccl(program, RankId{1}, *op), "") << program.names[op->name];
            const TensorId first = program.operands[op->first_operand].tensor;
            packed += program.tensors[index(first)].column_parts.empty() ? 0 : 1;
        }
        EXPECT_GT(packed, 0);
        std::set<int> kinds;
        expect_equal_results(program, "8 ranks, shared heads", kinds);
        EXPECT_TRUE(kinds.contains(2 * static_cast<int>(CollectiveKind::all_gather)));
        EXPECT_TRUE(kinds.contains(2 * static_cast<int>(CollectiveKind::reduce_scatter)));
    }
}

// Sizes that the ranks divide go in one call, others in one a member, and never through staging.
TEST(NcclTransfer, ListsAreReducedInPlace) {
    ParallelPlan plan = tiny_plan();
    plan.data_parallel_size = 3;
    plan.micro_batch_size = 1;
    plan.global_batch_size = 6;
    plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
    const Program program = lower(tiny_gpt(), plan);
    int whole = 0;
    int pieces = 0;
    for (const Op* op : collectives_of(program)) {
        if (program.collective(*op).kind != CollectiveKind::reduce_scatter) {
            continue;
        }
        OpMemory own{program, *op, 1};
        const NcclTransfer t = nccl_transfer(program, RankId{1}, *op, own.bound, nullptr);
        EXPECT_EQ(t.staging_bytes, 0);
        EXPECT_TRUE(t.before.empty() && t.after.empty());
        for (const NcclCall& call : t.calls) {
            whole += call.function == NcclCallKind::reduce_scatter ? 1 : 0;
            pieces += call.function == NcclCallKind::reduce ? 1 : 0;
        }
    }
    EXPECT_GT(whole, 0);
    EXPECT_GT(pieces, 0);
    EXPECT_EQ(pieces % 3, 0);
}

// Two stages and two tensor-parallel ranks: a message goes to the peer's position on its line.
TEST(NcclTransfer, MessagesGoToThePeersPositionOnTheAxis) {
    ParallelPlan plan = tiny_plan();
    plan.tensor_model_parallel_size = 2;
    plan.pipeline_model_parallel_size = 2;
    plan.sequence_parallel = true;  // or stages would send halves of what they hold
    const Program program = lower(tiny_gpt(), plan);
    int sends = 0;
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            if (op.kind() != OpKind::send_recv || segment.name.find("send") == std::string::npos) {
                continue;
            }
            for (const std::uint32_t rank : {1u, 3u}) {
                EXPECT_EQ(why_not_nccl(program, static_cast<RankId>(rank), op), "");
                OpMemory own{program, op, rank};
                const NcclTransfer t =
                    nccl_transfer(program, static_cast<RankId>(rank), op, own.bound, nullptr);
                ASSERT_EQ(t.calls.size(), 1u);
                EXPECT_EQ(t.communicators[0].ranks, (std::vector<std::uint32_t>{1, 3}));
                EXPECT_EQ(t.calls[0].peer, rank == 1 ? 1u : 0u);
                sends += t.calls[0].function == NcclCallKind::send ? 1 : 0;
            }
        }
    }
    EXPECT_GT(sends, 0);
}

// Without sequence parallelism stages send each other what every tensor-parallel rank holds: each
// sends its half.
TEST(NcclTransfer, RanksThatHoldTheSameSendAPartEach) {
    ParallelPlan plan = tiny_plan();
    plan.tensor_model_parallel_size = 2;
    plan.pipeline_model_parallel_size = 2;
    const Program program = lower(tiny_gpt(), plan);
    int halves = 0;
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            if (op.kind() != OpKind::send_recv ||
                program.send_recv(op).parts[0].slice_digits == 0) {
                continue;
            }
            EXPECT_EQ(why_not_nccl(program, RankId{1}, op), "");
            OpMemory own{program, op, 1};
            const NcclTransfer t = nccl_transfer(program, RankId{1}, op, own.bound, nullptr);
            for (const NcclCall& call : t.calls) {
                const bool sends = call.function == NcclCallKind::send;
                const auto& operands = sends ? own.bound.reads : own.bound.writes;
                const std::byte* from = sends ? call.in : call.out;
                EXPECT_EQ(call.count * 2, operands[0].view.size);
                EXPECT_EQ(from - operands[0].view.data, call.count * size_bytes(call.dtype));
                ++halves;
            }
        }
    }
    EXPECT_GT(halves, 0);
}

}  // namespace
}  // namespace orrery
