// SPDX-License-Identifier: Apache-2.0
// The choices of recomputation: modules of selective recomputation, methods of full recomputation.
// A choice is an enumerator and a row of a table. Keys, reader, writer, importers, rules of plans,
// lowering (models/blocks/layer_lowering.cpp) and FLOP counts (models/plan/recomputation.cpp) look
// the row up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "models/plan/choice_rows.h"

namespace orrery {

// The results of a layer's forward pass, as bits.
enum class LayerPart : std::uint32_t {
    norms = 1,         // outputs of the norms
    qkv = 2,           // the product that makes Q, K and V
    key = 4,           // only K of that product
    latent_heads = 8,  // Q, K and V made from latent vectors
    heads = 16,        // Q, K and V as core attention reads them: rotated, exchanged
    core = 32,         // core attention
    projection = 64,   // the product after attention
    fc1 = 128,         // the MLP's first product
    up = 256,          // only up of that product, if it has a gate
    activation = 512,  // the MLP's activation
    fc2 = 1024,        // the MLP's second product
    expert_activation = 2048,
    experts = 4096,  // from the router on
};

struct LayerParts {
    std::uint32_t bits = 0;

    constexpr LayerParts() = default;
    constexpr LayerParts(LayerPart part) : bits(static_cast<std::uint32_t>(part)) {}
    constexpr bool has(LayerParts any) const { return (bits & any.bits) != 0; }
    constexpr bool within(LayerParts all) const { return (bits & ~all.bits) == 0; }
    constexpr LayerParts& operator|=(LayerParts more) {
        bits |= more.bits;
        return *this;
    }
    friend constexpr LayerParts operator|(LayerParts a, LayerParts b) { return a |= b; }
};
constexpr LayerParts operator|(LayerPart a, LayerPart b) {
    return LayerParts{a} | b;
}

// Modules are bits of a plan.
enum class RecomputeModule : std::uint32_t {
    core_attn = 1,
    layernorm = 2,
    activation = 4,
    mlp = 8,
    every_second_product = 16,
    moe_act = 32,
    mla_up_proj = 64,
    moe = 128,
    every_second_projection = 256,
    linear = 512,
    mlp_first_product = 1024,
};

struct ModuleRow {
    RecomputeModule value;
    std::string_view word;
    std::string_view meaning;
    LayerParts again;
    // Modules of this kind cannot be combined with others. They keep products, and everything
    // between these runs again, all of it before the layer's backward pass. Other modules each run
    // again before the first backward pass that reads their results.
    bool of_products = false;
    bool of_megatron = false;  // --recompute-modules has it
};

inline constexpr ModuleRow kModuleRows[] = {
    {.value = RecomputeModule::core_attn,
     .word = "core_attn",
     .meaning = "everything between Q, K, V and attention's output",
     .again = LayerPart::core,
     .of_megatron = true},
    {.value = RecomputeModule::layernorm,
     .word = "layernorm",
     .meaning = "outputs of the norms",
     .again = LayerPart::norms,
     .of_megatron = true},
    {.value = RecomputeModule::activation,
     .word = "activation",
     .meaning = "output of the MLP's activation function",
     .again = LayerPart::activation},
    {.value = RecomputeModule::mlp,
     .word = "mlp",
     .meaning = "the MLP between its norm and the residual stream, not experts",
     .again = LayerPart::fc1 | LayerPart::activation | LayerPart::fc2,
     .of_megatron = true},
    {.value = RecomputeModule::every_second_product,
     .word = "every_second_product",
     .meaning = "everything but attention and the first of each two products",
     .again = LayerPart::norms | LayerPart::projection | LayerPart::activation,
     .of_products = true},
    {.value = RecomputeModule::moe_act,
     .word = "moe_act",
     .meaning = "output of the experts' activation function",
     .again = LayerPart::expert_activation,
     .of_megatron = true},
    {.value = RecomputeModule::mla_up_proj,
     .word = "mla_up_proj",
     .meaning = "queries, keys and values made from their latent vectors",
     .again = LayerPart::latent_heads,
     .of_megatron = true},
    {.value = RecomputeModule::moe,
     .word = "moe",
     .meaning = "the experts, from the router on",
     .again = LayerPart::experts,
     .of_megatron = true},
    // torchtitan's "op" option with torchtitan's and Hugging Face's Llama.
    {.value = RecomputeModule::every_second_projection,
     .word = "every_second_projection",
     .meaning = "every_second_product where Q, K, V, gate and up are products of their own: K, "
                "attention's output and up run again",
     .again = LayerPart::norms | LayerPart::key | LayerPart::projection | LayerPart::up |
              LayerPart::activation,
     .of_products = true},
    {.value = RecomputeModule::linear,
     .word = "linear",
     .meaning = "everything but attention",
     .again = LayerPart::norms | LayerPart::qkv | LayerPart::heads | LayerPart::projection |
              LayerPart::fc1 | LayerPart::activation,
     .of_products = true},
    // jax.checkpoint runs again only what a backward pass reads. None reads the second product's
    // output, which is added to the residual stream.
    {.value = RecomputeModule::mlp_first_product,
     .word = "mlp_first_product",
     .meaning = "the MLP's first product and its activation",
     .again = LayerPart::fc1 | LayerPart::activation},
};

// The parts that lowering can run again for each kind of module.
inline constexpr LayerParts kBetweenProducts =
    LayerPart::norms | LayerPart::projection | LayerPart::activation;
inline constexpr LayerParts kExpertParts = LayerPart::expert_activation | LayerPart::experts;
static_assert(std::ranges::all_of(kModuleRows, [](const ModuleRow& row) {
    return row.of_products
               ? kBetweenProducts.within(row.again) &&
                     row.again.within(kBetweenProducts | LayerPart::qkv | LayerPart::key |
                                      LayerPart::heads | LayerPart::fc1 | LayerPart::up)
               : row.again.within(LayerPart::norms | LayerPart::core | LayerPart::latent_heads |
                                  LayerPart::fc1 | LayerPart::activation | LayerPart::fc2 |
                                  kExpertParts);
}));

// The modules whose row makes `has` true, as bits.
template <class Has>
constexpr std::uint32_t modules_where(Has&& has) {
    std::uint32_t bits = 0;
    for (const ModuleRow& row : kModuleRows) {
        bits |= has(row) ? static_cast<std::uint32_t>(row.value) : 0;
    }
    return bits;
}
inline constexpr std::uint32_t kProductModules =
    modules_where([](const ModuleRow& row) { return row.of_products; });
// The modules whose parts are all in `parts`.
constexpr std::uint32_t modules_within(LayerParts parts) {
    return modules_where([&](const ModuleRow& row) { return row.again.within(parts); });
}
// The modules that have at least one of these parts.
constexpr std::uint32_t modules_with(LayerParts parts) {
    return modules_where([&](const ModuleRow& row) { return row.again.has(parts); });
}

constexpr LayerParts parts_of(std::uint32_t modules) {
    LayerParts parts;
    for (const ModuleRow& row : kModuleRows) {
        if ((modules & static_cast<std::uint32_t>(row.value)) != 0) {
            parts |= row.again;
        }
    }
    return parts;
}

// "core_attn, layernorm"
inline std::string words_of_modules(std::uint32_t modules) {
    std::string words;
    for (const ModuleRow& row : kModuleRows) {
        if ((modules & static_cast<std::uint32_t>(row.value)) != 0) {
            words += (words.empty() ? "" : ", ") + std::string{row.word};
        }
    }
    return words;
}

// The layers that full recomputation runs again.
enum class RecomputeMethod : std::uint8_t { uniform, block, every };

// A layer's role in a unit. The layers of a unit run again together, from the kept input of the
// first one.
struct UnitLayer {
    bool again = false;
    bool begins_unit = false;
    bool ends_unit = false;
};
inline constexpr UnitLayer kUnitOfOne{true, true, true};

struct MethodRow {
    RecomputeMethod value;
    std::string_view word;
    std::string_view meaning;
    // The role of layer `layer` (from 0) of a chunk of `layers`; `n` is recompute_num_layers.
    UnitLayer (*of)(std::int64_t layer, std::int64_t layers, std::int64_t n);
};

inline constexpr MethodRow kMethodRows[] = {
    {RecomputeMethod::uniform,
     "uniform",
     "all, in units of recompute_num_layers",
     [](std::int64_t layer, std::int64_t layers, std::int64_t n) {
         return UnitLayer{true, layer % n == 0, (layer + 1) % n == 0 || layer + 1 == layers};
     }},
    {RecomputeMethod::block,
     "block",
     "the first recompute_num_layers of each chunk",
     [](std::int64_t layer, std::int64_t, std::int64_t n) {
         return layer < n ? kUnitOfOne : UnitLayer{};
     }},
    {RecomputeMethod::every,
     "every",
     "every recompute_num_layers-th",
     [](std::int64_t layer, std::int64_t, std::int64_t n) {
         return (layer + 1) % n == 0 ? kUnitOfOne : UnitLayer{};
     }},
};

static_assert(std::ranges::all_of(kMethodRows, [](const MethodRow& row) {
    return &kMethodRows[static_cast<std::size_t>(row.value)] == &row;
}));

inline constexpr std::string_view kModulesBegin = "Modules of selective recomputation";
inline constexpr auto& kRecomputeModules = kChoicesOf<std::uint32_t, kModuleRows>;
inline constexpr auto& kModulesMeaning = kMeaningOf<kModuleRows, kModulesBegin>;
inline constexpr std::string_view kMethodsBegin = "Which layers full recomputation is of";
inline constexpr auto& kRecomputeMethods = kChoicesOf<RecomputeMethod, kMethodRows>;
inline constexpr auto& kMethodsMeaning = kMeaningOf<kMethodRows, kMethodsBegin>;

}  // namespace orrery
