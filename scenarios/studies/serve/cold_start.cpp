// SPDX-License-Identifier: Apache-2.0
// Compilation of kernels at their first use (ServingPrices).
#include <algorithm>

#include "scenarios/studies/serve/compiled_products.h"
#include "scenarios/studies/serve/serving_prices.h"

namespace orrery {

namespace {

BatchShape prompt_of(std::int64_t tokens) {
    return {.tokens = tokens, .sampled = 1, .chunks = {{.new_tokens = tokens, .context = 0}}};
}

}  // namespace

// TensorRT-LLM runs steps of one, two and the most tokens (pull request 18588) and captures the
// steps that generate.
CompiledKernels ServingPrices::compiled_at_start(const SchedulerLimits& limits,
                                                 std::int64_t prompt) const {
    CompiledKernels compiled;
    if (!cold_) {
        return compiled;
    }
    const auto add = [&](std::int64_t tokens) {
        add_product_kernels(
            serving_ops(model_, plan_, prompt_of(tokens), 0), device_.num_sms, compiled);
    };
    add(limits.max_num_batched_tokens);
    if (prompt > 0) {
        add(prompt);
    }
    constexpr std::int64_t kMostCaptured = 512;
    const std::int64_t ranks = plan_.data_parallel_size;
    const std::int64_t captured = std::min(
        engine_.max_captured_sequences > 0 ? engine_.max_captured_sequences : kMostCaptured,
        (limits.max_num_seqs + ranks - 1) / ranks);
    for (std::int64_t sequences = 1; sequences <= captured; ++sequences) {
        add(sequences * ranks * (1 + limits.draft_tokens));
    }
    return compiled;
}

Time ServingPrices::compiling(const Batch& batch, CompiledKernels& compiled) const {
    const BatchShape shape = cold_ ? shape_of(batch) : BatchShape{};
    if (shape.tokens == 0 || capture_of(engine_, plan_, batch, shape) == Capture::whole) {
        return {};
    }
    const std::size_t before = compiled.size();
    add_product_kernels(serving_ops(model_, plan_, shape, 0), device_.num_sms, compiled);
    return on_host(engine_.kernel_compile_time) *
           static_cast<std::int64_t>(compiled.size() - before);
}

}  // namespace orrery
