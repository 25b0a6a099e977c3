// SPDX-License-Identifier: Apache-2.0
#include "models/plan/layout_assignment.h"

#include <bit>

#include "models/plan/rank_mesh.h"

namespace orrery {

LayoutAssignment assign_layouts(const ParallelPlan& plan,
                                std::int64_t ranks_of_head,
                                RankId first_rank) {
    const RankMesh ranks = digits_of_plan(plan, ranks_of_head, first_rank);
    LayoutAssignment a;
    a.mesh = ranks.mesh;
    a.head_digits = ranks.head_digits;
    const Mesh& mesh = a.mesh;
    const std::uint32_t tp = mesh.axis("tp");
    const std::uint32_t cp = mesh.axis("cp");
    a.pipeline_digit = mesh.digit("pp");
    a.chunks = static_cast<std::int32_t>(plan.chunks_of_stage());
    a.context_digit = static_cast<std::uint32_t>(std::countr_zero(cp));
    a.state = state_layouts(plan, ranks);

    // Mirrored pieces balance causal attention. A head exchange gathers the sequence in order.
    const bool exchange = plan.context_parallel_comm == ContextParallelComm::all_to_all;
    const Layout batch = along(mesh, mesh.axis("dp"), sharded(kBatch));
    a.tokens = combined(
        batch, along(mesh, cp, exchange ? sharded(kSequence) : sharded_mirrored(kSequence)));
    const Layout split_sequence = combined(a.tokens, along(mesh, tp, sharded(kSequence)));
    a.residual = plan.sequence_parallel ? split_sequence : a.tokens;
    a.pipeline = plan.scatter_gather_tensors_in_pipeline ? split_sequence : a.residual;
    a.saved = plan.distribute_saved_activations ? split_sequence : a.residual;
    const Layout heads = along(mesh, tp, sharded(kWidth));
    const Layout key_value_heads = along(mesh, tp & ~a.head_digits, sharded(kWidth));
    if (exchange) {
        const Layout exchanged = combined(batch, along(mesh, cp, sharded(kWidth)));
        a.query = combined(exchanged, heads);
        a.key_value = combined(exchanged, key_value_heads);
    } else {
        a.query = combined(a.tokens, heads);
        a.key_value = combined(batch, key_value_heads);
        const bool several = mesh.combined_size(cp) > 1;
        const bool ring = plan.context_parallel_comm == ContextParallelComm::ring;
        a.stream_key_value = several && ring;
        a.gather_key_value = several && !ring;
    }

    const std::uint32_t ep = a.expert_digits = ranks.expert_digits;
    const std::uint32_t etp = a.expert_tensor_digits = ranks.expert_tensor_digits;
    a.expert_state = state_layouts(plan, ranks, StateOf::experts);
    a.expert_tokens = a.residual;
    for (std::uint32_t digit = 0; digit < a.expert_tokens.size(); ++digit) {
        const bool shares = ((ep | etp) >> digit & 1u) != 0;
        a.expert_tokens[digit] = shares ? replicated() : a.expert_tokens[digit];
    }
    a.expert_rows = combined(along(mesh, ep, routed(kSequence)), a.expert_tokens);
    const Layout experts = along(mesh, ep, sharded(kExpert));
    a.expert_column_weight = combined(experts, along(mesh, etp, sharded(kOutput)));
    a.expert_row_weight = combined(experts, along(mesh, etp, sharded(kInput)));
    a.expert_vector_weight = experts;

    a.column_weight = along(mesh, tp, sharded(kOutput));
    a.row_weight = a.embedding = along(mesh, tp, sharded(kInput));
    a.vector_weight = along(mesh, 0, replicated());
    return a;
}

}  // namespace orrery
