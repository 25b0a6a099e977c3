// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/kernel_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "models/lowering/lowering.h"
#include "runtime/kernel_program.h"

namespace orrery {
namespace {

// Bound of
//
// device - CPU
//
// /
//
// CPU
//
// , which covers another order of sums and rounding to the type.
double allowed_difference(Dtype dtype) {
    return dtype == Dtype::bf16 ? 1e-2 : 1e-5;
}

constexpr std::string_view kComparison = "  comparison ";

}  // namespace

std::vector<KernelCall> kernels_to_compare() {
    // Sequences of several tiles of the tensor-core kernels, and both supported head sizes.
    Transformer gpt{.name = "check",
                    .num_layers = 1,
                    .hidden_size = 256,
                    .ffn_hidden_size = 1024,
                    .num_attention_heads = 4,
                    .num_query_groups = 4,
                    .kv_channels = 64,
                    .seq_length = 768,
                    .vocab_size = 1024};
    Transformer llama = gpt;
    llama.num_attention_heads = 2;
    llama.num_query_groups = 1;
    llama.kv_channels = 128;
    llama.normalization = Normalization::rmsnorm;
    llama.position_embedding = PositionEmbedding::rope;
    llama.activation = Activation::swiglu;
    llama.add_bias_linear = false;
    llama.tied_embeddings = false;
    std::vector<KernelCall> calls;
    for (const Dtype precision : {Dtype::bf16, Dtype::fp32}) {
        for (const Transformer& model : {gpt, llama}) {
            const Program program = lower(
                model, {.micro_batch_size = 2, .global_batch_size = 4, .precision = precision});
            for (const KernelCall& call : program.kernels) {
                if (kernel_program(call) && std::ranges::find(calls, call) == calls.end()) {
                    calls.push_back(call);
                }
            }
        }
    }
    return calls;
}

Result<int> compare_kernels_from(std::size_t first,
                                 DeviceChoice device,
                                 const std::function<void(const std::string&)>& print) {
    const std::vector<KernelCall> calls = kernels_to_compare();
    int wrong = 0;
    for (std::size_t i = first; i < calls.size(); ++i) {
        const KernelCall& call = calls[i];
        print(fmt::format("{}{:>3}/{} {:<24} {:<5} variant {:>3}  ",
                          kComparison,
                          i + 1,
                          calls.size(),
                          name(call.kind),
                          name(call.dtype),
                          call.variant));
        KernelNotes notes;
        const auto difference = compare_kernel(call, device, DeviceChoice::cpu, &notes);
        if (!difference) {
            return unexpected<Error>(difference.error());
        }
        // The executor does not use a tensor-core kernel that is wrong, so its failure must be
        // reported here.
        const bool fits = *difference <= allowed_difference(call.dtype) &&  // false for NaN
                          notes.wrong_ways.empty();
        wrong += fits ? 0 : 1;
        print(fmt::format("{:.2e}  {}\n", *difference, fits ? "ok" : "WRONG"));
        for (const std::string& note : notes.notes) {
            if (note.starts_with("tried ")) {  // a candidate with its difference, time and verdict
                print("    " + note + "\n");
            }
        }
    }
    return wrong;
}

std::optional<std::size_t> last_comparison(std::string_view text) {
    const std::size_t at = text.rfind(kComparison);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    text.remove_prefix(at + kComparison.size());
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc{} && end != text.data() + text.size() && *end == '/';
    return whole ? std::optional{number} : std::nullopt;
}

}  // namespace orrery
