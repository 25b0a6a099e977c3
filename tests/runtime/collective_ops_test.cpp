// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective_ops.h"

#include "models/plan/layout.h"
#include "tests/runtime/communication/local_ranks.h"

namespace orrery {
namespace {

constexpr std::uint32_t kRanks = 3;

// A Program of three data-parallel ranks with one op, and two parameters of 7 and 2 elements.
class OneOp {
public:
    OneOp(CollectiveKind kind, Access access) : OneOp({}) {
        program_.collectives = {{.kind = kind, .group = GroupId{0}}};
        op_.payload = CollectiveId{0};
        op_.num_operands = 2;
        program_.operands = {{.tensor = TensorId{0}, .access = access},
                             {.tensor = TensorId{1}, .access = access}};
    }
    explicit OneOp(std::vector<SendRecvPart> parts) {
        program_.parties.front().mesh = Mesh{{{"dp", kRanks}}};
        program_.groups = {{.name = "dp", .digits = 1, .subset = {}, .explicit_ranks = {}}};
        for (const std::int64_t elements : {7, 2}) {
            program_.tensors.push_back({.name = "w",
                                        .parameter = "w",
                                        .dtype = Dtype::fp32,
                                        .global_shape = {1, elements},
                                        .layout = Layout(1),
                                        .bytes = Bytes{4 * elements}});
        }
        program_.send_recvs = {{.parts = std::move(parts)}};
        op_.payload = SendRecvId{0};
        op_.num_operands = 2;
        program_.operands = {{.tensor = TensorId{0}, .access = Access::read},
                             {.tensor = TensorId{1}, .access = Access::write}};
    }

    Program& program() { return program_; }
    const Op& op() const { return op_; }
    BoundOperand bind(std::size_t tensor, std::span<float> values) const {
        return {.view = view_of(values), .tensor = &program_.tensors[tensor], .transposed = false};
    }

private:
    Program program_;
    Op op_;
};

// Runs the op on two tensors that it adds to or writes; element i of rank r begins as 100 r + i.
void run_on_lists(const OneOp& one,
                  const std::function<void(std::uint32_t, const std::vector<float>&)>& check) {
    run_as_ranks(kRanks, [&](std::unique_ptr<Transport> transport) {
        OneOp own = one;
        CollectiveOps ops{own.program(), static_cast<RankId>(transport->rank()), *transport};
        std::vector<float> values;
        for (int i = 0; i < 9; ++i) {
            values.push_back(static_cast<float>(100 * transport->rank()) + static_cast<float>(i));
        }
        const std::vector<BoundOperand> list{own.bind(0, std::span{values}.subspan(0, 7)),
                                             own.bind(1, std::span{values}.subspan(7, 2))};
        EXPECT_EQ(ops.why_not(own.op()), "");
        const bool adds = own.program().operands[0].access == Access::accumulate;
        const Result<void> done =
            ops.run(own.op(),
                    {.reads = {},
                     .writes = adds ? std::vector<BoundOperand>{} : list,
                     .accumulates = adds ? list : std::vector<BoundOperand>{}});
        ASSERT_TRUE(done) << done.error().to_string();
        check(transport->rank(), values);
    });
}

TEST(CollectiveOps, AllReduceAddsEveryElementOfTheList) {
    run_on_lists({CollectiveKind::all_reduce, Access::accumulate},
                 [](std::uint32_t, const std::vector<float>& values) {
                     for (std::size_t i = 0; i < 9; ++i) {
                         EXPECT_EQ(values[i], 300 + 3 * static_cast<float>(i));
                     }
                 });
}

// The parts of 7 elements among three are 3, 3 and 1; of 2 they are 1, 1 and none.
bool is_own(std::uint32_t rank, std::size_t i) {
    return i < 7 ? i / 3 == rank : i - 7 == rank;
}
std::uint32_t owner(std::size_t i) {
    return static_cast<std::uint32_t>(i < 7 ? i / 3 : i - 7);
}

TEST(CollectiveOps, ReduceScatterAddsTheOwnPartOfEachTensor) {
    run_on_lists({CollectiveKind::reduce_scatter, Access::accumulate},
                 [](std::uint32_t rank, const std::vector<float>& values) {
                     for (std::size_t i = 0; i < 9; ++i) {
                         if (is_own(rank, i)) {
                             EXPECT_EQ(values[i], 300 + 3 * static_cast<float>(i)) << i;
                         }
                     }
                 });
}

TEST(CollectiveOps, AllGatherBringsEveryPartFromItsOwner) {
    run_on_lists({CollectiveKind::all_gather, Access::write},
                 [](std::uint32_t, const std::vector<float>& values) {
                     for (std::size_t i = 0; i < 9; ++i) {
                         EXPECT_EQ(values[i],
                                   100 * static_cast<float>(owner(i)) + static_cast<float>(i));
                     }
                 });
}

TEST(CollectiveOps, MessagesGoRoundAnAxis) {
    const SendRecvPart send{.is_send = true, .digit = 0, .delta = 1, .bytes = Bytes{28}};
    SendRecvPart receive = send;
    receive.is_send = false;
    receive.delta = -1;
    run_as_ranks(kRanks, [&](std::unique_ptr<Transport> transport) {
        OneOp one{{send, receive}};
        one.program().tensors[1] = one.program().tensors[0];
        CollectiveOps ops{one.program(), static_cast<RankId>(transport->rank()), *transport};
        EXPECT_EQ(ops.why_not(one.op()), "");
        std::vector<float> mine(7, static_cast<float>(transport->rank()));
        std::vector<float> theirs(7, -1);
        const Result<void> done = ops.run(
            one.op(),
            {.reads = {one.bind(0, mine)}, .writes = {one.bind(1, theirs)}, .accumulates = {}});
        ASSERT_TRUE(done) << done.error().to_string();
        EXPECT_EQ(theirs, std::vector<float>(7, static_cast<float>((transport->rank() + 2) % 3)));
        EXPECT_TRUE(ops.end_step());
    });
}

TEST(CollectiveOps, SayWhatTheyCannotDo) {
    run_as_ranks(kRanks, [](std::unique_ptr<Transport> transport) {
        OneOp one{CollectiveKind::broadcast, Access::write};
        const CollectiveOps ops{one.program(), static_cast<RankId>(transport->rank()), *transport};
        EXPECT_EQ(ops.why_not(one.op()), "this use of a collective is not executed");
        Op host = one.op();
        host.payload = HostWorkId{0};
        EXPECT_EQ(ops.why_not(host), "copies and host work are not executed");
        OneOp unpaired{std::vector<SendRecvPart>{}};
        EXPECT_NE(
            CollectiveOps(unpaired.program(), static_cast<RankId>(transport->rank()), *transport)
                .why_not(unpaired.op()),
            "");
    });
}

}  // namespace
}  // namespace orrery
