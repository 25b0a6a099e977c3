// SPDX-License-Identifier: Apache-2.0
// Every field of a Program and of a simulation's input changes what the verifier, the simulation,
// the memory plan, the launches, the trace or a step that is really run have to say, and every
// field of a Program its text.
#include "tests/fields/program_rows.h"

namespace orrery {
namespace program_fields_test {

TEST(ProgramFields, OfOps) {
    const Row rows[] = {
        {"payload", [](Program& p) { kernel(p).payload = HostWorkId{0}; }},
        {"stream", [](Program& p) { kernel(p).stream = StreamId{1}; }},
        {"cause", [](Program& p) { kernel(p).cause = Cause::optimizer; }},
        {"launches", [](Program& p) { kernel(p).launches = 200; }},
        {"name", [](Program& p) { kernel(p).name += 1; }},
        {"first_wait",
         [](Program& p) {
             Op& op = op_that(p, [](const Op& o) { return o.num_waits > 0; });
             const std::uint32_t waited = p.waits[op.first_wait];
             p.waits.push_back(waited == 0 ? 1 : 0);
             op.first_wait = static_cast<std::uint32_t>(p.waits.size() - 1);
             op.num_waits = 1;
         },
         [](Program& p) { op_that(p, [](const Op& o) { return o.num_waits > 0; }).num_waits = 1; }},
        {"num_waits",
         [](Program& p) {
             op_that(p, [](const Op& o) { return o.num_waits > 0; }).num_waits -= 1;
         }},
        {"first_operand", [](Program& p) { kernel(p).first_operand += 1; }},
        {"num_operands", [](Program& p) { kernel(p).num_operands -= 1; }},
    };
    expect_told<Op>(rows);
}

TEST(ProgramFields, OfOperands) {
    const Row rows[] = {
        {"tensor",
         [](Program& p) {
             Operand& first = p.operands[kernel(p).first_operand];
             first.tensor = to_id<TensorId>(index(first.tensor) + 1);
         }},
        {"access",
         [](Program& p) {
             operand_that(p, [](const Operand& o) { return o.access == Access::write; }).access =
                 Access::read;
         }},
        {"transposed",
         [](Program& p) { p.operands[kernel(p).first_operand + 1].transposed ^= true; }},
        {"part", [](Program& p) { p.operands[kernel(p).first_operand + 1].part = 0; }},
        {"piece",
         [](Program& p) {
             operand_that(p, [](const Operand& o) { return o.pieces == 2 && o.piece == 0; }).piece =
                 1;
         },
         exchange_in_pieces},
        {"pieces",
         [](Program& p) {
             operand_that(p, [](const Operand& o) { return o.pieces == 2; }).pieces = 1;
         },
         exchange_in_pieces},
    };
    expect_told<Operand>(rows);
}

TEST(ProgramFields, OfCommunication) {
    using enum CollectiveKind;
    const Row collectives[] = {
        {"kind", [](Program& p) { collective(p, all_gather).kind = all_to_all; }},
        {"group",
         [](Program& p) {
             CollectiveCall& call = collective(p, all_gather);
             call.group = to_id<GroupId>((index(call.group) + 1) % p.groups.size());
         }},
        {"bytes", [](Program& p) { collective(p, all_gather).bytes += Bytes{4096}; }},
        {"wire", [](Program& p) { p.collectives.back().wire = Dtype::int8; }, part_collectives},
        {"communicator", [](Program& p) { collective(p, all_gather).communicator += 5; }},
        {"mover", [](Program& p) { collective(p, all_gather).mover.sm_limit = 1; }},
        {"reduction",
         [](Program& p) {
             for (CollectiveCall& call : p.collectives) {
                 call.reduction = Reduction::max;
             }
         }},
        {"rows",
         [](Program& p) {
             CollectiveCall& call = collective(p, all_gather);
             call.kind = all_to_all;
             call.rows = {.dispatcher = 1,
                          .choices = 1,
                          .experts = 1,
                          .tokens = 1 << 20,
                          .row = Bytes{1 << 20}};
         }},
    };
    expect_told<CollectiveCall>(collectives);
    const auto part = [](Program& p) -> SendRecvPart& { return p.send_recvs.at(0).parts.at(0); };
    const Row parts[] = {
        {"is_send", [&](Program& p) { part(p).is_send = !part(p).is_send; }},
        {"digit", [&](Program& p) { part(p).digit = 0; }},
        {"delta", [&](Program& p) { part(p).delta += 1; }},
        {"bytes", [&](Program& p) { part(p).bytes = part(p).bytes * 1000; }},
        {"communicator", [&](Program& p) { part(p).communicator += 1; }},
        {"peers", [&](Program& p) { part(p).peers = -1; }, stages_of_two_sizes},
        {"slice_digits",
         [&](Program& p) { part(p).slice_digits ^= 1; },
         {},
         "a real step checks it against the operand and stops (runtime/collective_ops.cpp)"},
        {"piece", [&](Program& p) { part(p).piece = 1; }},
        {"pieces",
         [&](Program& p) { part(p).pieces += 1; },
         {},
         "a real step checks it against the operand and stops (runtime/collective_ops.cpp)"},
    };
    expect_told<SendRecvPart>(parts, {kAnswers[0], kAnswers[1]});
    const Row calls[] = {{"parts", [](Program& p) { p.send_recvs.at(0).parts.clear(); }}};
    expect_told<SendRecvCall>(calls);
    const Row works[] = {
        {"duration",
         [](Program& p) { p.host_works.at(0).duration = Time::picoseconds(9'000'000); },
         [](Program& p) { p.host_works.at(0).kind = HostWorkKind::given; }},
        {"kind", [](Program& p) { p.host_works.at(0).kind = HostWorkKind::given; }},
    };
    expect_told<HostWork>(works);
}

// The first segment ends with a copy.
void copy_at_the_end(Program& p) {
    p.copies = {{.from = MemoryTier::hbm, .to = MemoryTier::dram, .bytes = Bytes{1 << 24}}};
    p.segments[0].ops.push_back({.payload = CopyId{0}, .cause = Cause::exposed_other});
}

TEST(ProgramFields, OfCopies) {
    const Row rows[] = {
        {"from", [](Program& p) { p.copies[0].from = MemoryTier::nvme; }, copy_at_the_end},
        {"to", [](Program& p) { p.copies[0].to = MemoryTier::nvme; }, copy_at_the_end},
        {"bytes", [](Program& p) { p.copies[0].bytes += Bytes{4096}; }, copy_at_the_end},
    };
    expect_told<CopyCall>(rows, {kAnswers[0]});
}

TEST(ProgramFields, OfTensors) {
    // A residual's mask.
    const auto random = [](Program& p) -> Tensor& {
        const auto found =
            std::ranges::find_if(p.tensors, [](const Tensor& t) { return t.random_purpose >= 0; });
        EXPECT_NE(found, p.tensors.end());
        return *found;
    };
    const auto largest = [](Program& p) -> Tensor& {
        return *std::ranges::max_element(p.tensors, {}, &Tensor::bytes);
    };
    const Row rows[] = {
        {"name", [&](Program& p) { largest(p).name += "!"; }},
        {"parameter", [](Program& p) { weight(p).parameter += "!"; }},
        {"dtype", [](Program& p) { weight(p).dtype = Dtype::bf16; }},
        {"kind", [&](Program& p) { largest(p).kind = TensorKind::workspace; }},
        {"lifetime",
         [](Program& p) {
             std::ranges::find(p.tensors, Lifetime::micro_batch, &Tensor::lifetime)->lifetime =
                 Lifetime::persistent;
         }},
        {"global_shape", [](Program& p) { weight(p).global_shape[0] += 1; }},
        {"layout", [](Program& p) { weight(p, "fc2.weight").layout[0].dim = 1; }},
        {"step_layout",
         [](Program& p) { weight(p, "fc2.weight").step_layout = weight(p, "fc2.weight").layout; },
         {},
         "for the real executor: which part of a weight a rank steps"},
        {"column_parts", [](Program& p) { weight(p).column_parts.clear(); }},
        {"sequence_blocks",
         [](Program& p) {
             for (Tensor& t : p.tensors) {
                 t.sequence_blocks = 1;
             }
         },
         exchange_in_pieces},
        {"bytes", [&](Program& p) { largest(p).bytes += Bytes{64}; }},
        {"tier", [&](Program& p) { largest(p).tier = MemoryTier::dram; }},
        {"input", [](Program& p) { tensor(p, "tokens").input ^= true; }},
        {"random_purpose", [&](Program& p) { random(p).random_purpose += 1; }},
        {"random_stream", [&](Program& p) { random(p).random_stream += 1; }},
    };
    expect_told<Tensor>(rows);
}

TEST(ProgramFields, OfSegmentsSlotsAndRoles) {
    const Row segments[] = {
        {"name",
         [](Program& p) {
             for (Segment& segment : p.segments) {
                 segment.name += "!";
             }
         }},
        {"ops", [](Program& p) { p.segments[0].ops.clear(); }},
    };
    expect_told<Segment>(segments);
    const Row waits[] = {
        {"op", [](Program& p) { slot_that_waits(p).waits[0].op += 1000; }},
        {"slot", [](Program& p) { slot_that_waits(p).waits[0].slot -= 1; }},
        {"slot_op", [](Program& p) { slot_that_waits(p).waits[0].slot_op += 1000; }},
        {"carried", [](Program& p) { slot_that_waits(p).waits[0].carried = true; }},
    };
    expect_told<SlotWait>(waits);
    const auto forward = [](Program& p) -> Slot& {
        return *std::ranges::find(p.roles[0].slots, Pass::forward, &Slot::pass);
    };
    const Row slots[] = {
        {"segment", [&](Program& p) { forward(p).segment = p.roles[0].slots.back().segment; }},
        {"pass",
         [](Program& p) {
             std::ranges::find(p.roles[0].slots, Pass::optimizer, &Slot::pass)->pass =
                 Pass::gradient_sync;
         },
         [](Program& p) {
             p = lower(dropout_gpt(), [] {
                 ParallelPlan plan = two_stages();
                 plan.pipeline_model_parallel_size = 1;
                 plan.tensor_model_parallel_size = 2;
                 plan.data_parallel_size = 2;
                 plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
                 return plan;
             }());
         }},
        {"chunk", [&](Program& p) { forward(p).chunk += 1; }},
        {"micro_batch", [&](Program& p) { forward(p).micro_batch += 1; }},
        {"waits", [](Program& p) { slot_that_waits(p).waits.clear(); }},
    };
    expect_told<Slot>(slots);
    const Row roles[] = {
        {"name",
         [](Program& p) {
             for (Role& role : p.roles) {
                 role.name += "!";
             }
         }},
        {"slots", [](Program& p) { p.roles[0].slots.pop_back(); }},
        {"host_reads",
         [](Program& p) {
             p.roles[0].host_reads = {{0, 0}};
         }},
    };
    expect_told<Role>(roles);
    const Row reads[] = {
        {"slot",
         [](Program& p) {
             p.roles[0].host_reads = {{1, 0}};
         }},
        {"op",
         [](Program& p) {
             p.roles[0].host_reads = {{0, 1}};
         }},
    };
    expect_told<SlotOp>(reads);
}

TEST(ProgramFields, OfKernels) {
    const auto call = [](Program& p) -> KernelCall& {
        return p.kernels[index(kernel(p).payload.kernel())];
    };
    const Row rows[] = {
        {"kind", [&](Program& p) { call(p).kind = KernelKind::cast; }},
        {"dtype", [&](Program& p) { call(p).dtype = Dtype::bf16; }},
        {"variant",
         [](Program& p) {  // of attention: not causal
             p.kernels[index(kernel(p, KernelKind::attention_forward).payload.kernel())].variant ^=
                 8;
         }},
        {"dims", [&](Program& p) { call(p).dims[0] *= 2; }},
        {"flop", [&](Program& p) { call(p).flop *= 64; }},
        {"bytes", [&](Program& p) { call(p).bytes *= 64; }},
        {"tier", [&](Program& p) { call(p).tier = MemoryTier::dram; }},
    };
    expect_told<KernelCall>(rows);
}

TEST(ProgramFields, OfTheTables) {
    const Row rows[] = {
        {"parties", [](Program& p) { p.parties.push_back(p.parties.front()); }},
        {"roles", [](Program& p) { std::swap(p.roles[0], p.roles[1]); }},
        {"segments", [](Program& p) { p.segments[0].ops.pop_back(); }},
        {"tensors", [](Program& p) { p.tensors[0].bytes += Bytes{64}; }},
        {"groups", [](Program& p) { p.groups[0].digits ^= 1U; }},
        {"kernels", [](Program& p) { p.kernels[0].bytes *= 64; }},
        {"collectives", [](Program& p) { p.collectives[0].bytes += Bytes{4096}; }},
        {"send_recvs", [](Program& p) { p.send_recvs[0].parts.clear(); }},
        {"peers", [](Program& p) { p.peers.clear(); }, stages_of_two_sizes},
        {"copies", [](Program& p) { p.copies.at(0).bytes += Bytes{4096}; }, copy_at_the_end},
        {"host_works", [](Program& p) { p.host_works[0].kind = HostWorkKind::given; }},
        {"waits",
         [](Program& p) {
             const Op& op = op_that(p, [](const Op& o) { return o.num_waits > 0; });
             p.waits[op.first_wait] = p.waits[op.first_wait] == 0 ? 1 : 0;
         }},
        {"operands", [](Program& p) { p.operands.resize(p.operands.size() / 2); }},
        {"names", [](Program& p) { p.names[kernel(p).name] += "!"; }},
        {"stream_names", [](Program& p) { p.stream_names[0] += "!"; }},
    };
    expect_told<Program>(rows);
}

}  // namespace program_fields_test
}  // namespace orrery
