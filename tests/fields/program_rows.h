// SPDX-License-Identifier: Apache-2.0
// What the tests of a Program's fields share: the Program, what is asked of it before and after a
// change, and where its entries are.
#pragma once

#include <fmt/format.h>

#include "engine/program/program_text.h"
#include "tests/fields/field_rows.h"
#include "tests/fields/program_judge.h"
#include "tests/runtime/rank_training.h"

namespace orrery::program_fields_test {

inline Transformer dropout_gpt() {
    Transformer model = tiny_gpt();
    model.dropout = 0.25;
    return model;
}

// Two stages of two ranks that share their layers.
inline ParallelPlan two_stages() {
    ParallelPlan plan = tiny_plan();
    plan.tensor_model_parallel_size = 2;
    plan.pipeline_model_parallel_size = 2;
    plan.sequence_parallel = true;
    plan.global_batch_size = 8;
    return plan;
}

inline const Program& base() {
    static const Program program = lower(dropout_gpt(), two_stages());
    return program;
}

// Stages of two ranks and of one.
inline void stages_of_two_sizes(Program& program) {
    Transformer model = dropout_gpt();
    model.tied_embeddings = false;
    ParallelPlan plan = two_stages();
    plan.stage_tensor_model_parallel_sizes = {2, 1};
    plan.data_parallel_size = 2;
    program = lower(model, plan);
}

// The same with exchanges in pieces, beside the products that they feed: for GPUs only.
inline void exchange_in_pieces(Program& program) {
    ParallelPlan plan = two_stages();
    plan.tp_comm_overlap = true;
    plan.tp_comm_overlap_chunks = 2;
    program = lower(dropout_gpt(), plan);
}

// Losses, norms and weights of a real step. Mutations that come so far keep the ops runnable.
inline std::string trained(const Program& program) {
    Training result;
    std::mutex lock;
    run_as_ranks(program.num_ranks(), [&](std::unique_ptr<Transport> transport) {
        RankRun run{dropout_gpt(),
                    two_stages(),
                    static_cast<RankId>(transport->rank()),
                    transport.get(),
                    program};
        run.step(1, 0.5, lock, result);
        run.collect(lock, result);
    });
    std::string text = fmt::format("{} {} ", result.losses.at(0), result.norms.at(0));
    for (const auto& [name, weights] : result.weights) {
        text += name;
        for (const float weight : weights) {
            text += fmt::format(" {}", weight);
        }
    }
    return text;
}

inline const FieldAnswers<Program> kAnswers{
    [](const Program& program) { return judge().simulated(program); },
    [](const Program& program) { return judge().examined(program); },
    [](const Program& program) { return trained(program); }};

using Row = FieldRow<Program>;

template <class Struct, std::size_t N>
void expect_told(const Row (&rows)[N], const FieldAnswers<Program>& answers = kAnswers) {
    expect_effects<Struct>(rows, base(), answers);
    expect_shown<Program>(rows, base(), to_text);
}

// The first op for which `wanted` holds.
template <class Wanted>
Op& op_that(Program& program, Wanted wanted) {
    for (Segment& segment : program.segments) {
        for (Op& op : segment.ops) {
            if (wanted(op)) {
                return op;
            }
        }
    }
    ADD_FAILURE() << "no such op";
    return program.segments[0].ops[0];
}

inline Op& kernel(Program& program, KernelKind kind = KernelKind::gemm) {
    return op_that(program, [&](const Op& op) {
        return op.kind() == OpKind::kernel && program.kernel(op).kind == kind;
    });
}

inline CollectiveCall& collective(Program& program, CollectiveKind kind) {
    const auto found = std::ranges::find(program.collectives, kind, &CollectiveCall::kind);
    EXPECT_NE(found, program.collectives.end());
    return *found;
}

inline Tensor& tensor(Program& program, std::string_view name) {
    return program.tensors[index(tensors_named(program, name).at(0))];
}

// A weight of the first layer, of which each rank has a part.
inline Tensor& weight(Program& program, std::string_view name = "linear_qkv.weight") {
    const auto found = std::ranges::find_if(program.tensors, [&](const Tensor& t) {
        return t.kind == TensorKind::weights && t.name.ends_with(name);
    });
    EXPECT_NE(found, program.tensors.end());
    return *found;
}

// Gives the last role a collective of its own in place of one that it shares with the first role.
inline void part_collectives(Program& program) {
    std::set<Payload> of_first;
    for (const Slot& slot : program.roles[0].slots) {
        for (const Op& op : program.segment_of(slot).ops) {
            if (op.kind() == OpKind::collective) {
                of_first.insert(op.payload);
            }
        }
    }
    for (const Slot& slot : program.roles.back().slots) {
        for (Op& op : program.segments[index(slot.segment)].ops) {
            const bool across = op.kind() == OpKind::collective && of_first.contains(op.payload) &&
                                (program.groups[index(program.collective(op).group)].digits >>
                                     program.role_digit() &
                                 1U) != 0;
            if (across) {
                program.collectives.push_back(CollectiveCall{program.collective(op)});
                op.payload = to_id<CollectiveId>(program.collectives.size() - 1);
                return;
            }
        }
    }
    ADD_FAILURE() << "the roles share no collective";
}

template <class Wanted>
Operand& operand_that(Program& program, Wanted wanted) {
    const auto found = std::ranges::find_if(program.operands, wanted);
    EXPECT_NE(found, program.operands.end());
    return *found;
}

inline Slot& slot_that_waits(Program& program) {
    for (Slot& slot : program.roles[0].slots) {
        if (!slot.waits.empty() && slot.waits[0].slot > 0) {
            return slot;
        }
    }
    ADD_FAILURE() << "no slot waits";
    return program.roles[0].slots[0];
}

}  // namespace orrery::program_fields_test
