// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/served_experts.h"

#include "kernels/activation/weighted_activation_cpu.h"
#include "kernels/expert_rows/expert_rows_cpu.h"
#include "kernels/gemm/gemm_cpu.h"
#include "kernels/gemm/grouped_gemm_cpu.h"
#include "kernels/router/router_cpu.h"
#include "models/blocks/fused_experts.h"

namespace orrery {
namespace {

using Values = std::vector<float>;
using Numbers = std::vector<std::int32_t>;

TensorView numbers_view(Numbers& numbers) {
    return {reinterpret_cast<std::byte*>(numbers.data()),
            Dtype::int32,
            static_cast<std::int64_t>(numbers.size())};
}

Values of_size(std::int64_t rows, std::int64_t columns) {
    return Values(static_cast<std::size_t>(rows * columns));
}

// Each row times the matrix of its expert, [k, n].
Values grouped_product(const std::vector<std::int64_t>& counts,
                       const Values& rows,
                       std::int64_t k,
                       const Values& matrices) {
    const auto experts = static_cast<std::int64_t>(counts.size());
    const std::int64_t n = static_cast<std::int64_t>(matrices.size()) / (experts * k);
    Values y = of_size(static_cast<std::int64_t>(rows.size()) / k, n);
    cpu::grouped_gemm({.rows = counts, .n = n, .k = k},
                      const_view_of(rows),
                      const_view_of(matrices),
                      view_of(std::span{y}));
    return y;
}

}  // namespace

std::string why_not_served(const Transformer& model) {
    return model.num_experts > 0 && model.moe_shared_expert_intermediate_size > 0
               ? "real serving has no shared experts: the model can be simulated"
               : "";
}

Result<void> run_experts(const Transformer& m,
                         const ServedExperts& experts,
                         std::int64_t tokens,
                         const Values& x,
                         const GatherRows& gather,
                         Values& branch) {
    const std::int64_t h = m.hidden_size;
    const std::int64_t k = m.moe_router_topk;
    const std::int64_t rows = tokens * k;
    Values logits = of_size(tokens, m.num_experts);
    cpu::gemm({.m = tokens, .n = m.num_experts, .k = h},
              const_view_of(x),
              const_view_of(experts.router),
              view_of(std::span{logits}));
    Values weights = of_size(tokens, k);
    Numbers chosen(weights.size());
    cpu::router_forward(router_shape(m, tokens, !experts.router_bias.empty()),
                        const_view_of(logits),
                        const_view_of(experts.router_bias),
                        view_of(std::span{weights}),
                        numbers_view(chosen));
    Numbers of_experts(static_cast<std::size_t>(m.num_experts));
    cpu::expert_counts({.tokens = tokens, .experts = m.num_experts, .k = k},
                       numbers_view(chosen),
                       {},
                       numbers_view(of_experts),
                       {},
                       {});
    const std::vector<std::int64_t> counts(of_experts.begin(), of_experts.end());
    Values inputs = of_size(rows, h);
    Values row_weights = of_size(rows, 1);
    const ExpertRows moved{
        .tokens = tokens, .width = h, .k = k, .experts = m.num_experts, .weights = true};
    cpu::permute(moved,
                 const_view_of(x),
                 const_view_of(weights),
                 numbers_view(chosen),
                 view_of(std::span{inputs}),
                 view_of(std::span{row_weights}));
    const Values fc1 = grouped_product(counts, inputs, h, experts.fc1);
    const std::int64_t width = static_cast<std::int64_t>(fc1.size()) / rows;
    const std::int64_t ffn = m.gated_mlp() ? width / 2 : width;
    Values mine = of_size(rows, ffn);
    cpu::weighted_forward(
        {.rows = rows,
         .ffn = ffn,
         .gated = m.gated_mlp(),
         .variant = m.activation == Activation::geglu || m.activation == Activation::squared_relu},
        const_view_of(fc1),
        const_view_of(row_weights),
        view_of(std::span{mine}));
    Values activated;
    if (Result<void> done = gather(rows, std::move(mine), activated); !done) {
        return done;
    }
    const Values fc2 = grouped_product(counts, activated, m.expert_ffn_size(), experts.fc2);
    const std::int64_t columns = static_cast<std::int64_t>(fc2.size()) / rows;
    branch = of_size(tokens, columns);
    cpu::unpermute({.tokens = tokens, .width = columns, .k = k, .experts = m.num_experts},
                   const_view_of(fc2),
                   {},
                   numbers_view(chosen),
                   view_of(std::span{branch}),
                   {});
    return {};
}

}  // namespace orrery
