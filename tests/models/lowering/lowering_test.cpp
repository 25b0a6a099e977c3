// SPDX-License-Identifier: Apache-2.0
// Whole programs of random plans: the work in them, what the overlap switches may change, and that
// they run to their end.
#include "models/lowering/lowering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/program/verifier.h"
#include "engine/world/simulated_executor.h"
#include "models/plan/flops.h"
#include "models/plan/layout.h"
#include "models/plan/pipeline_split.h"
#include "models/plan/recomputation.h"
#include "models/plan/validate_plan.h"
#include "models/segments/lanes.h"
#include "network/fluid/fluid.h"
#include "tests/models/drawn_plans.h"
#include "tests/models/known_models.h"
#include "tests/models/program_sums.h"
#include "tests/reference/table_network.h"

namespace orrery {
namespace {

using namespace literals;

constexpr std::uint64_t kDrawnPlans = 300;

double relative(double actual, double expected) {
    return std::abs(actual - expected) / std::max(1.0, std::abs(expected));
}

// Matrix products without attention: 2 FLOP a parameter and token, three times; the layers once
// more where they run again.
double expected_linear_flop(const Transformer& m, const ParallelPlan& p) {
    const auto layer =
        static_cast<double>(m.hidden_size * (2 * m.query_size() + 2 * m.kv_size()) +
                            (m.gated_mlp() ? 3 : 2) * m.hidden_size * m.ffn_hidden_size);
    const auto tokens = static_cast<double>(p.global_batch_size * m.seq_length);
    const double layers = 2 * tokens * static_cast<double>(m.num_layers) * layer;
    const double logits = 2 * tokens * static_cast<double>(m.hidden_size * m.vocab_size);
    const RecomputedShare again = recomputed_share(m, p);
    const auto attention =
        static_cast<double>(m.hidden_size * (2 * m.query_size() + 2 * m.kv_size()));
    return 3 * (layers + logits) +
           layers / layer * (again.attention_linear * attention + again.mlp * (layer - attention));
}

// Of one forward pass over the batch: what flash kernels compute, and what unfused ones do.
double visible_attention_flop(const Transformer& m, const ParallelPlan& p) {
    double pairs = 0;
    for (std::int64_t layer = 0; layer < m.num_layers; ++layer) {
        pairs += static_cast<double>(visible_attention_pairs(m, layer));
    }
    return 4 * pairs * static_cast<double>(m.query_size() * p.global_batch_size);
}
double square_attention_flop(const Transformer& m, const ParallelPlan& p) {
    return 4.0 * static_cast<double>(m.num_layers * m.seq_length * m.seq_length * m.query_size() *
                                     p.global_batch_size);
}

TEST(Lowering, ExecutesExactlyTheMatrixProductsOfTheModel) {
    for (std::uint64_t seed = 0; seed < kDrawnPlans; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        const Program program = lower(d.model, d.plan);
        const RecomputedShare again = recomputed_share(d.model, d.plan);
        const bool flash = d.plan.attention_kernel != AttentionKernel::unfused;
        const double unfused = flash ? 0 : square_attention_flop(d.model, d.plan);
        const double fused = flash ? visible_attention_flop(d.model, d.plan) : 0;
        EXPECT_LT(relative(executed_flop(program, KernelKind::gemm),
                           expected_linear_flop(d.model, d.plan) + (3 + again.attention) * unfused),
                  1e-12)
            << d.text();
        EXPECT_LT(relative(executed_flop(program, KernelKind::attention_forward),
                           (1 + again.visible_attention) * fused),
                  1e-12)
            << d.text();
        EXPECT_LT(relative(executed_flop(program, KernelKind::attention_backward), 2.5 * fused),
                  1e-12)
            << d.text();
    }
}

TEST(Lowering, ExecutesTheHardwareFlopsThatReportsPrint) {
    for (std::uint64_t seed = 0; seed < kDrawnPlans; ++seed) {
        DrawnPlan d = drawn_plan(seed);
        if (d.plan.attention_kernel != AttentionKernel::unfused) {
            continue;
        }
        const ModelFlops flops = model_flops(d.model, d.plan);
        EXPECT_LT(relative(executed_flop(lower(d.model, d.plan), KernelKind::gemm),
                           flops.hardware_full_attention.count()),
                  1e-12)
            << d.text();
    }
}

// How often a role's kernels add to the gradient of each parameter, the optimizer's clip aside.
std::map<std::string, std::int64_t> gradient_additions(const Program& program, const Role& role) {
    std::map<std::string, std::int64_t> additions;
    for_each_op(program, role, [&](const Slot& slot, const Op& op) {
        if (op.kind() != OpKind::kernel || slot.pass == Pass::optimizer) {
            return;
        }
        for (std::uint32_t i = 0; i < op.num_operands; ++i) {
            const Operand& operand = program.operands[op.first_operand + i];
            const Tensor& tensor = program.tensors[index(operand.tensor)];
            if (tensor.kind == TensorKind::gradients && !tensor.parameter.empty() &&
                operand.access == Access::accumulate) {
                ++additions[tensor.parameter];
            }
        }
    });
    return additions;
}

std::set<std::string> weights_of(const Program& program, const Role& role) {
    std::set<std::string> names;
    for_each_op(program, role, [&](const Slot&, const Op& op) {
        for (std::uint32_t i = 0; i < op.num_operands; ++i) {
            const Tensor& t = program.tensors[index(program.operands[op.first_operand + i].tensor)];
            if (t.kind == TensorKind::weights) {
                names.insert(t.parameter);
            }
        }
    });
    return names;
}

TEST(Lowering, MakesEachGradientOnceAMicroBatch) {
    for (std::uint64_t seed = 0; seed < kDrawnPlans; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        const Program program = lower(d.model, d.plan);
        for (const Role& role : program.roles) {
            const auto additions = gradient_additions(program, role);
            const auto weights = weights_of(program, role);
            EXPECT_EQ(additions.size(), weights.size()) << d.text();
            for (const auto& [parameter, count] : additions) {
                const bool twice = parameter == "embedding.word_embeddings.weight" &&
                                   d.model.tied_embeddings && program.roles.size() == 1;
                EXPECT_EQ(count, d.plan.num_micro_batches() * (twice ? 2 : 1))
                    << parameter << " " << d.text();
            }
        }
    }
}

// Each parameter on the ranks that hold a part of it, a tied embedding on two stages.
TEST(Lowering, UpdatesEachParameterOncePerReplicaOrOnceInAll) {
    for (std::uint64_t seed = 0; seed < kDrawnPlans; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        const Program program = lower(d.model, d.plan);
        std::int64_t parameters = 0;
        std::int64_t held = 0;  // by the tensor-parallel ranks together
        std::set<TensorId> seen;
        for (const Tensor& t : program.tensors) {
            if (t.kind != TensorKind::weights) {
                continue;
            }
            std::int64_t elements = 1;
            for (const std::int64_t extent : t.global_shape) {
                elements *= extent;
            }
            bool split = false;
            for (const DigitPlacement& p : t.layout) {
                split = split || p.placement == Placement::shard;
            }
            parameters += elements;
            held += elements * (split ? 1 : d.plan.tensor_model_parallel_size);
        }
        const bool copied = d.model.tied_embeddings && program.roles.size() > 1;
        EXPECT_EQ(parameters,
                  num_parameters(d.model) + (copied ? d.model.vocab_size * d.model.hidden_size : 0))
            << d.text();
        std::int64_t updated = 0;
        for (const Role& role : program.roles) {
            for_each_op(program, role, [&](const Slot&, const Op& op) {
                const bool kernel = op.kind() == OpKind::kernel;
                const KernelKind kind = kernel ? program.kernel(op).kind : KernelKind{};
                if (kernel && (kind == KernelKind::adamw || kind == KernelKind::lamb)) {
                    updated += program.kernel(op).dims[0] * ranks_of_a_role(program);
                }
            });
        }
        const bool sharded = d.plan.data_parallel_sharding_strategy != ShardingStrategy::no_shard;
        const std::int64_t all = d.plan.data_parallel_size * d.plan.context_parallel_size;
        const std::int64_t shard = d.plan.hsdp_shard_size > 0
                                       ? d.plan.hsdp_shard_size * d.plan.context_parallel_size
                                       : all;
        EXPECT_EQ(updated, held * (sharded ? all / shard : all)) << d.text();
    }
}

// A tensor's layout says how much of it a rank has in memory: nothing else does.
TEST(Lowering, LayoutsSayWhatIsInMemory) {
    std::int64_t flat_shards = 0;
    for (std::uint64_t seed = 0; seed < kDrawnPlans; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        const Program program = lower(d.model, d.plan);
        for (const Tensor& tensor : program.tensors) {
            if (!tensor.global_shape.empty()) {
                EXPECT_EQ(tensor.bytes.count(),
                          local_elements(tensor.global_shape, tensor.layout, program.mesh()) *
                              size_bytes(tensor.dtype))
                    << tensor.name << ", " << d.text();
                flat_shards += digits_with(tensor.layout, Placement::flat) != 0 ? 1 : 0;
            }
        }
    }
    EXPECT_GT(flat_shards, 1000);
}

// What a step computes and moves, whatever the order: FLOP, and bytes by collective and group.
struct Work {
    std::map<KernelKind, double> flop;
    std::map<std::pair<std::string, std::string>, std::int64_t> bytes;
};

Work work_of(const Program& program) {
    Work work;
    for (const Role& role : program.roles) {
        for_each_op(program, role, [&](const Slot&, const Op& op) {
            if (op.kind() == OpKind::kernel) {
                work.flop[program.kernel(op).kind] += program.kernel(op).flop;
            }
        });
        for (const auto& [key, t] : traffic(program, role)) {
            work.bytes[key] += t.bytes;
        }
    }
    return work;
}

TEST(Lowering, OverlapSwitchesChangeNeitherWorkNorBytes) {
    for (std::uint64_t seed = 0; seed < kDrawnPlans; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        const Work base = work_of(lower(d.model, d.plan));
        const auto flip = [&](bool ParallelPlan::*which) {
            ParallelPlan plan = d.plan;
            plan.*which = !(plan.*which);
            const Work other = work_of(lower(d.model, plan));
            EXPECT_EQ(other.bytes, base.bytes) << d.text();
            EXPECT_EQ(other.flop.size(), base.flop.size()) << d.text();
            for (const auto& [kind, flop] : base.flop) {
                EXPECT_LT(relative(other.flop.at(kind), flop), 1e-12) << d.text();
            }
        };
        flip(&ParallelPlan::overlap_grad_reduce);
        flip(&ParallelPlan::overlap_param_gather);
        flip(&ParallelPlan::overlap_p2p);
        if (d.plan.sequence_parallel) {
            flip(&ParallelPlan::tp_comm_overlap);
        } else {  // with it, this switch also says whether inputs stay gathered
            flip(&ParallelPlan::async_tensor_model_parallel_allreduce);
        }
    }
}

TEST(Lowering, PassesTheVerifier) {
    for (std::uint64_t seed = 0; seed < kDrawnPlans; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        const Errors errors = verify(lower(d.model, d.plan));
        EXPECT_TRUE(errors.empty()) << d.text() << "\n" << errors.front().to_string();
    }
}

// The virtual stages and micro-batches of the messages from one stage to another, in their order.
using Messages = std::map<std::pair<std::size_t, std::size_t>,
                          std::vector<std::pair<std::int64_t, std::int32_t>>>;

void add_messages(const Program& program, std::size_t stage, Messages& sent, Messages& received) {
    const auto stages = static_cast<std::int64_t>(program.roles.size());
    for_each_op(program, program.roles[stage], [&](const Slot& slot, const Op& op) {
        if (op.kind() != OpKind::send_recv ||
            (slot.pass != Pass::send && slot.pass != Pass::receive)) {
            return;
        }
        const SendRecvPart& part = program.send_recv(op).parts[0];
        ASSERT_EQ(program.send_recv(op).parts.size(), 1u);
        const auto peer = static_cast<std::size_t>(
            (static_cast<std::int64_t>(stage) + part.delta + stages) % stages);
        // Named after the virtual stage that made it.
        const std::int64_t here = slot.chunk * stages + static_cast<std::int64_t>(stage);
        const std::int64_t maker = part.is_send ? here : here + part.delta;
        const std::size_t direction =
            part.communicator == lane_of(Traffic::send_forward).communicator ? 0 : 1;
        const auto pair = part.is_send ? std::pair{stage, peer} : std::pair{peer, stage};
        (part.is_send ? sent : received)[{pair.first * 2 + direction, pair.second}].emplace_back(
            maker, slot.micro_batch);
    });
}

TEST(Lowering, EveryStageReceivesWhatTheOtherSendsInThatOrder) {
    std::size_t messages = 0;
    for (std::uint64_t seed = 0; seed < kDrawnPlans; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        const Program program = lower(d.model, d.plan);
        Messages sent;
        Messages received;
        for (std::size_t stage = 0; stage < program.roles.size(); ++stage) {
            add_messages(program, stage, sent, received);
        }
        EXPECT_EQ(sent, received) << d.text();
        for (const auto& [pair, list] : sent) {
            messages += list.size();
        }
    }
    EXPECT_GT(messages, 1000u);
}

// How often each stage's host waits for the device.
std::vector<std::size_t> restarts(const Program& program) {
    std::vector<std::size_t> counts;
    for (const Role& role : program.roles) {
        counts.push_back(
            static_cast<std::size_t>(std::ranges::count_if(role.slots, [&](const Slot& slot) {
                return program.segment_of(slot).ops.front().kind() == OpKind::host;
            })));
    }
    return counts;
}

ParallelPlan pipeline_plan(std::int64_t chunks, bool overlap) {
    ParallelPlan plan;
    plan.pipeline_model_parallel_size = 4;
    plan.virtual_pipeline_model_parallel_size = chunks;
    plan.schedule = chunks > 1 ? ScheduleKind::interleaved_1f1b : ScheduleKind::one_f_one_b;
    plan.global_batch_size = 8;
    plan.overlap_p2p = overlap;
    return plan;
}

Transformer eight_layers() {
    Transformer model = drawn_plan(0).model;
    model.num_layers = 8;
    return model;
}

TEST(BlockingExchange, RestartsTheHostBeforeEachTurn) {
    // 8 forward and 8 backward passes. The last stage turns round without a message: only its
    // forward passes begin with one. The first stage exchanges before all backward passes and
    // between the 4 forward passes of its warm-up.
    EXPECT_EQ(restarts(lower(eight_layers(), pipeline_plan(1, false))),
              (std::vector<std::size_t>{11, 16, 16, 8}));
    EXPECT_EQ(restarts(lower(eight_layers(), pipeline_plan(1, true))),
              (std::vector<std::size_t>{0, 0, 0, 0}));
}

TEST(BlockingExchange, IsSharedByAForwardAndTheBackwardPassBehindItIfInterleaved) {
    const Program program = lower(eight_layers(), pipeline_plan(2, false));
    const std::vector<std::size_t> counts = restarts(program);
    for (std::size_t stage = 0; stage < 4; ++stage) {
        // 16 passes each way, of which those of the warm-up stand alone.
        const std::size_t warm_up = 2 * (3 - stage) + 4;
        EXPECT_NEAR(static_cast<double>(counts[stage]), static_cast<double>(16 + warm_up), 1);
    }
}

Time duration_of(const KernelCall& call) {
    return Time::picoseconds(1'000'000 + static_cast<std::int64_t>(call.flop / 100.0) + call.bytes);
}

SimulationOutcome run(const Program& program, Time restart = Time{}) {
    const reference::TableNetwork network({.num_ranks = program.num_ranks(),
                                           .nvlink = 2400_Gbps,
                                           .nic = 400_Gbps,
                                           .uplink = 400_Gbps,
                                           .hop_latency = 2_us});
    FluidRates rates(network.links());
    SimulationInput input{.program = &program, .network = &network};
    input.devices.push_back({.kernels = {}, .restart = restart, .num_sms = 100});
    for (const KernelCall& call : program.kernels) {
        input.devices[0].kernels.push_back({.duration = duration_of(call), .ideal = 1_ps});
    }
    input.launch_cost = 1_us;
    return simulate(input, rates);
}

// What check() lets pass has to lower, whatever the number of chunks: pieces of less than a token
// are rounded up.
TEST(Lowering, TakesEveryNumberOfOverlapChunksThatPassesTheCheck) {
    const Transformer model = gpt(2, 64, 4, 64, 512);
    ParallelPlan plan{.tensor_model_parallel_size = 4,
                      .sequence_parallel = true,
                      .global_batch_size = 2,
                      .tp_comm_overlap = true};
    for (const std::int64_t chunks : {1L, 3L, 255L, 1024L, 1025L, 65'535L, 65'536L, 1'000'000L}) {
        plan.tp_comm_overlap_chunks = chunks;
        const bool passes = check(model, plan, 4).empty();
        EXPECT_EQ(passes, chunks <= kTpCommOverlapChunksMax);
        if (passes) {
            const Program program = lower(model, plan);
            const Errors errors = verify(program);
            EXPECT_TRUE(errors.empty()) << errors.front().to_string();
            EXPECT_TRUE(run(program).has_value());
        }
    }
}

// On the way through the pipeline and back, one restart a turn is never hidden.
TEST(BlockingExchange, ExposesARestartForEveryTurnOfTheLastStage) {
    for (const std::int64_t chunks : {1, 2}) {
        const Program program = lower(eight_layers(), pipeline_plan(chunks, false));
        const Time at_once = run(program)->iteration;
        const Time restart = at_once;  // longer than all that could hide it
        const Time added = run(program, restart)->iteration - at_once;
        const auto turns = static_cast<std::int64_t>(restarts(program).back());
        EXPECT_GE(added.picoseconds(), restart.picoseconds() * turns);
        EXPECT_LE(added.picoseconds(), restart.picoseconds() * (turns + 16));
    }
}

TEST(Lowering, RunsToItsEndUnderEverySchedule) {
    for (std::uint64_t seed = 0; seed < kDrawnPlans; ++seed) {
        DrawnPlan d = drawn_plan(seed);
        for (const bool overlap : {false, true}) {
            d.plan.overlap_p2p = overlap;
            const Program program = lower(d.model, d.plan);
            const SimulationOutcome outcome = run(program);
            ASSERT_TRUE(outcome.has_value())
                << d.text() << "\n"
                << outcome.error().to_string() << " " << outcome.error().hint;
            EXPECT_GT(outcome->iteration, Time{});
        }
    }
}

}  // namespace
}  // namespace orrery
