// SPDX-License-Identifier: Apache-2.0
#include "engine/program/program_text.h"

#include <gtest/gtest.h>

#include "tests/engine/program_builder.h"

namespace orrery {
namespace {

// Two ranks of two roles: the first computes x and sends it, the second receives it and adds up.
Program small_program() {
    ProgramBuilder b{{{"tp", 1}, {"pp", 2}}};
    Program& p = b.program;
    p.stream_names = {"compute", "network"};
    p.tensors = {
        {.name = "x", .global_shape = {4, 8}, .layout = {{}, {}}, .bytes = Bytes{64}},
        {.name = "w",
         .parameter = "layer.w",
         .dtype = Dtype::fp32,
         .kind = TensorKind::weights,
         .lifetime = Lifetime::persistent,
         .global_shape = {8, 8},
         .layout = {{Placement::shard, 1, true, 2}, {Placement::partial}},
         .column_parts = {2, 6},
         .sequence_blocks = 4,
         .bytes = Bytes{256},
         .input = true,
         .random_purpose = 3,
         .random_stream = 5},
    };
    b.group("all", 3, {0, 1});
    b.kernel(Time{});
    p.kernels[0] = {.kind = KernelKind::gemm,
                    .dtype = Dtype::bf16,
                    .variant = 2,
                    .dims = {4, 0, 8},
                    .flop = 0.5,
                    .bytes = 320};
    b.exchange({{.digit = 1, .bytes = Bytes{64}, .communicator = 7, .slice_digits = 1}}, kNet, {0});
    b.role(1);
    b.exchange(
        {{.is_send = false, .digit = 1, .delta = -1, .bytes = Bytes{64}, .communicator = 7}});
    b.collective(GroupId{0}, Bytes{32}, kCompute, {0});
    p.collectives[0].mover = {.sm_limit = 4};
    p.collectives[0].reduction = Reduction::max;
    b.host(Time::picoseconds(9), kCompute);
    b.copy({.from = MemoryTier::nvme, .to = MemoryTier::dram, .bytes = Bytes{8}}, kCompute);
    p.operands = {
        {.tensor = TensorId{0}},
        {.tensor = TensorId{1}, .transposed = true, .part = 1},
        {.tensor = TensorId{0}, .access = Access::write, .piece = 1, .pieces = 2},
        {.tensor = TensorId{1}, .access = Access::accumulate},
    };
    p.segments[0].ops[0].num_operands = 4;
    p.segments[0].ops[0].launches = 3;
    p.roles[1].slots.push_back(
        {.segment = SegmentId{1}, .chunk = 0, .micro_batch = 2, .waits = {{1, 0, 2}}});
    p.roles[1].slots[1].waits.push_back({2, 1, 1, true});
    p.roles[1].host_reads = {{1, 0}, {1, 2}};
    return p;
}

constexpr const char* kHead = R"(program of 2 ranks, 2 roles along pp
mesh: tp 1, pp 2
streams: compute, network

groups
  0  all  along tp pp, of pp 0 1

tensors
  0  x  bf16  4x8       whole        64 B   activations  slot
)";

TEST(ProgramText, SaysEverythingOnALineAnOp) {
    const std::string text = to_text(small_program());
    EXPECT_TRUE(text.starts_with(kHead)) << text;
    for (const char* line : {
             "  1  w  fp32  8x8(2+6)  tp/1m>2 pp+  256 B  weights      persistent  "
             "input blocks 4 random 3.5 parameter layer.w\n",
             "  k0 gemm bf16 4x0x8  0.5 FLOP  320 B  variant 2\n",
             "  c0 all_reduce all 32 B bf16 comm 0 sm <= 4 max\n",
             "  m0 send pp+1 64 B comm 7 slices tp\n",
             "  m1 receive pp-1 64 B comm 7\n",
             "  d0 copy nvme to dram 8 B\n",
             "  h0 given 9 ps\n",
             "  3 launches  memory_bound_kernels           x, w^T[1] -> x{1/2} (alias) +> w\n",
             "  1  network  op 1  m0 send pp+1 64 B comm 7 slices tp              "
             "exposed_pipeline      after 0\n",
             "role 1: role 1\n",
             "  1  forward  chunk 0  micro-batch 2  segment 1  1 after 0.2, "
             "2 after 1.1 of the step before\n",
             "the host reads 1.0, 1.2\n",
         }) {
        EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
    }
    for (std::size_t end = text.find('\n'); end != std::string::npos;
         end = text.find('\n', end + 1)) {
        EXPECT_TRUE(end == 0 || text[end - 1] != ' ') << text.substr(0, end);
    }
}

TEST(ProgramText, OfARoleLeavesOutWhatItDoesNotName) {
    const Program program = small_program();
    const std::string text = to_text(program, RoleId{1});
    for (const char* part :
         {"role 1", "m1 receive", "c0 all_reduce", "h0 given", "d0 copy", "segment 1"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
    for (const char* part : {"role 0", "m0 send", "k0 gemm", "segment 0", "layer.w"}) {
        EXPECT_EQ(text.find(part), std::string::npos) << part << "\n" << text;
    }
}

// Tensors of one name are told apart; numbers that name nothing are printed, too.
TEST(ProgramText, TellsNumbersWhereNamesFail) {
    Program program = small_program();
    program.tensors[1].name = "x";
    program.operands[3].tensor = TensorId{17};
    Op& send = program.segments[0].ops[1];
    send.payload = SendRecvId{12};
    send.stream = StreamId{6};
    send.name = 99;
    send.first_wait = 40;
    send.first_operand = 50;
    send.num_operands = 1;
    const std::string text = to_text(program);
    for (const char* part :
         {"x#0, x#1^T[1] -> x#0{1/2} (alias) +> ?17", "m?12", "?6", "?99", "after ?40", " ?50"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
}

}  // namespace
}  // namespace orrery
