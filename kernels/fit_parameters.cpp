// SPDX-License-Identifier: Apache-2.0
#include "kernels/fit_parameters.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/attention_device.h"

namespace orrery {

namespace {

// Priors are orders of magnitude with matching sigmas. They follow from the design of the kernels,
// not from measurements. They decide only where no row does; the table then says "prior".
//   asymptote        most of the tensor cores' peak; the rest is stalls between tiles
//   k_prologue       filling a pipeline of three or four stages of 32 elements of k
//   epilogue         between tiles that hide each other's results (0) and tiles that do not (1)
//   tile_penalty     a 128 x 64 tile loads half again as much per FLOP as a 128 x 256 one
//   wave_sharpness   halfway between whole waves (1) and none (0: stream-k)
//   latency_us       launch of a kernel and its first loads
void add_gemm(std::vector<FitParameter>& list, const std::string& generation) {
    list.push_back({"gemm.asymptote", generation, "fp16", 0.8, 0.5});
    list.push_back({"gemm.k_prologue", generation, "*", 96, 0.7});
    list.push_back({"gemm.epilogue", generation, "*", 0.5, 0.7});
    list.push_back({"gemm.tile_penalty", generation, "*", 0.15, 0.7});
    list.push_back({"gemm.wave_sharpness", generation, "*", 0.5, 0.4});
    list.push_back({"gemm.latency_us", generation, "*", 2, 0.7});
}

// As above: a `fraction` of the peak by kernel generation, roughly as their authors print it; the
// tokens until the pipeline of a head is full; the waste of a block on the diagonal; and a backward
// pass with 2.5 times the products at a slightly lower rate.
void add_attention(std::vector<FitParameter>& list,
                   const std::string& kernel,
                   const std::string& generation,
                   const std::string& dtype,
                   double fraction,
                   std::vector<std::string> head_sizes) {
    const std::string prefix = "attention." + kernel;
    for (const std::string& size : head_sizes) {
        list.push_back({prefix + "." + size, generation, dtype, fraction, 1.0});
    }
    list.push_back({prefix + ".prologue_tokens", generation, dtype, 150, 0.7});
    list.push_back({prefix + ".causal_tokens", generation, dtype, 100, 0.7});
    list.push_back({prefix + ".backward_ratio", generation, dtype, 1.2, 0.15});
}

// Copies the rows of one generation to another, except where that one has rows of its own.
void copy_generation(EfficiencyTable& table,
                     const std::string& prefix,
                     const std::string& from,
                     const std::string& to,
                     double sigma) {
    const EfficiencyTable original = table;
    for (const auto& [key, parameter] : original.rows()) {
        const auto& [name, generation, dtype] = key;
        const bool older = to == "ampere" || to == "volta";  // no fp8 tensor cores
        if (generation != from || !name.starts_with(prefix) || (older && dtype == "fp8") ||
            original.rows().contains({name, to, dtype})) {
            continue;
        }
        table.set(name,
                  to,
                  dtype,
                  {.value = parameter.value,
                   .sigma = std::hypot(parameter.sigma, sigma),
                   .source = "rule: as " + from});
    }
}

// Adds a kernel generation without timings on this device generation: a scaled copy of another one.
void copy_attention(EfficiencyTable& table,
                    const std::string& from_kernel,
                    const std::string& from,
                    const std::string& to_kernel,
                    const std::string& to,
                    double scale,
                    double sigma) {
    const std::string from_prefix = "attention." + from_kernel + ".";
    const EfficiencyTable original = table;
    for (const auto& [key, parameter] : original.rows()) {
        const auto& [name, generation, dtype] = key;
        if (generation != from || !name.starts_with(from_prefix)) {
            continue;
        }
        const std::string last = name.substr(from_prefix.size());
        const std::string target = "attention." + to_kernel + "." + last;
        if (original.rows().contains({target, to, dtype})) {
            continue;
        }
        const bool fraction = last.starts_with("d");
        table.set(target,
                  to,
                  dtype,
                  {.value = parameter.value * (fraction ? scale : 1.0),
                   .sigma = std::hypot(parameter.sigma, fraction ? sigma : 0.2),
                   .source = "rule: as " + from_kernel + " on " + from +
                             (scale == 1.0 ? "" : " scaled")});
    }
}

double ratio(const EfficiencyTable& table,
             const std::string& name,
             const std::string& numerator,
             const std::string& denominator) {
    return table.value_or(name, numerator, "fp16", 1) /
           table.value_or(name, denominator, "fp16", 1);
}

}  // namespace

std::vector<FitParameter> fit_parameters(const std::string& family) {
    std::vector<FitParameter> list;
    if (family == "memory") {
        list.push_back({"memory.fraction", "ampere", "*", 0.85, 0.1});
        list.push_back({"memory.fraction", "hopper", "*", 0.85, 0.1});
        list.push_back({"memory.latency_us", "hopper", "*", 2, 0.7});
        list.push_back({"memory.fraction", "blackwell", "*", 0.85, 0.1});
        list.push_back({"memory.latency_us", "blackwell", "*", 2, 0.7});
    } else if (family == "gemm") {
        add_gemm(list, "ampere");
        add_gemm(list, "hopper");
        list.push_back({"gemm.asymptote", "hopper", "fp8", 0.8, 0.5});
        list.push_back({"gemm.asymptote", "blackwell", "fp16", 0.8, 0.5});
        list.push_back({"gemm.asymptote", "blackwell", "fp8", 0.8, 0.5});
        list.push_back({"gemm.latency_us", "blackwell", "*", 2, 0.7});
    } else if (family == "attention") {
        add_attention(list, "flash_1", "ampere", "fp16", 0.35, {"d64", "d128"});
        add_attention(list, "flash_2", "ampere", "fp16", 0.6, {"d64", "d128"});
        add_attention(list, "flash_2", "hopper", "fp16", 0.35, {"d64", "d128"});
        add_attention(list, "flash_2", "blackwell", "fp16", 0.2, {"d64", "d128"});
        add_attention(list, "flash_3", "hopper", "fp16", 0.6, {"d64", "d128", "d256"});
        add_attention(list, "flash_3", "hopper", "fp8", 0.5, {"d128"});
        for (const char* generation : {"blackwell", kBlackwellUltra}) {
            add_attention(list, "flash_3", generation, "fp16", 0.6, {"d128", "d256"});
            add_attention(list, "flash_3", generation, "fp8", 0.5, {"d64", "d128", "d256"});
        }
    }
    return list;
}

namespace {

void set_blackwell_products(EfficiencyTable& table) {
    // A B200 keeps 1,580 of 1,965 MHz at 1,000 W (flashinfer pull request 2899), so that power
    // decides what products reach. GB200 (1,200 W, 2,500 TFLOP/s) reaches the same part of its
    // peak.
    table.set("gemm.timed_at_watts", "blackwell", "*", {1000, 0, "NVIDIA DGX B200 user guide"});
    table.set("gemm.timed_at_tflops", "blackwell", "*", {2250, 0, "NVIDIA DGX B200 datasheet"});
    // Products of 16,384 rows, columns and depth on GB200, after 10,000 runs.
    table.set("gemm.asymptote",
              "blackwell",
              "fp4",
              {0.765, 0.05, "Azure AI-benchmarking-guide: 7628 of 10000 TFLOP/s on GB200"});
    // The 12 products of a layer whose operands are quantised beforehand: 7.161 ms in MXFP8, 6.812
    // ms with a scale for each tensor (B300). Kernels that reorder the scales are a part of it.
    table.set("gemm.mx_scaled",
              "blackwell",
              "fp8",
              {1.051, 0.03, "Transformer Engine GEMM profiling tutorial: B300"});
}

}  // namespace

EfficiencyTable fixed_parameters() {
    EfficiencyTable table;
    // A memory-bound kernel needs most, not all, of its SMs to saturate HBM.
    table.set("memory.sm_sensitivity", "*", "*", {0.3, 0.5, "assumed"});
    table.set("memory.conversions",
              "ampere",
              "*",
              {1.74, 0.1, "PyTorch pull request 195542: 67.1M from bf16 to fp32 in 362 us"});
    table.set("memory.conversions",
              "hopper",
              "*",
              {2.24, 0.1, "PyTorch pull request 137053: 134.2M from fp32 to fp16 in 553 us"});
    table.set("gemm.asymptote", "*", "fp32", {0.8, 0.15, "assumed: as half precision"});
    // Products of 2,048 rows and more and 4,096 columns and depth and more: the median of the
    // medians of vLLM 0.14, SGLang 0.5.10 and TensorRT-LLM 1.0. The card keeps 350 W.
    table.set("gemm.asymptote",
              "ada",
              "fp16",
              {0.577, 0.15, "AIConfigurator kernel tables: 209 of 362 TFLOP/s on L40S"});
    table.set("gemm.asymptote",
              "ada",
              "fp8",
              {0.435, 0.15, "AIConfigurator kernel tables: 319 of 733 TFLOP/s on L40S"});
    // No table of products on this generation is at hand.
    table.set("gemm.asymptote",
              "cdna3",
              "fp16",
              {0.47, 0.15, "SemiAnalysis December 2024: 620 of 1307 TFLOP/s on MI300X"});
    table.set("gemm.asymptote",
              "cdna3",
              "fp8",
              {0.38, 0.15, "SemiAnalysis December 2024: 990 of 2615 TFLOP/s on MI300X"});
    table.set("memory.fraction",
              "cdna3",
              "*",
              {0.77, 0.05, "AITER tuned_fmoe: 33 experts of 44 MB in 355 us on MI300X"});
    set_blackwell_products(table);
    // torch's product of 8,192 rows, columns and depth; GeForce cards run above their rated boost
    // clock.
    table.set("gemm.asymptote",
              "rtx-ada",
              "fp16",
              {0.97, 0.1, "torch-performance-test-data issue 78: 160.2 of 165.2 TFLOP/s"});
    table.set(
        "memory.fraction", "rtx-ada", "*", {0.914, 0.05, "clpeak issue 106: 921 of 1008 GB/s"});
    // One block an SM, whose tiles are fixed at the launch. Before Hopper a block has one tile.
    // From Blackwell on, a block asks for the next one.
    table.set("gemm.persistent", "ampere", "*", {0, 0, "CUTLASS: a block has one tile"});
    table.set("gemm.persistent", "hopper", "*", {1, 0, "PyTorch issue 143988: cuBLAS on H100"});
    table.set("gemm.persistent", "blackwell", "*", {0, 0, "CUTLASS: cluster launch control"});
    // Accumulators in tensor memory: one tile is written while the next one is computed.
    table.set("gemm.epilogue",
              "blackwell",
              "*",
              {0, 0, "CUTLASS: Blackwell's collective epilogues overlap main loops"});
    // "Up to 83 Tflops/s" of 125 on a Tesla V100, the best product of cuBLAS.
    table.set("gemm.asymptote", "volta", "fp16", {83.0 / 125, 0.13, "measured: arXiv:1803.04014"});
    // The median of 38 causal prefills to whose prediction all of it would add 5 % or more.
    table.set("attention.flash_2.last_block",
              "*",
              "*",
              {0.26, 0.5, "AIConfigurator kernel tables: FlashAttention 2 on A100"});
    table.set("memory.residual", "*", "*", {0.15, 0.5, "assumed"});
    table.set("gemm.residual", "*", "*", {0.2, 0.5, "assumed"});
    for (const char* kernel : {"flash_1", "flash_2", "flash_3"}) {
        table.set(
            std::string("attention.") + kernel + ".residual", "*", "*", {0.25, 0.5, "assumed"});
    }
    return table;
}

// Measured with the kernels of this repository on one core, which reach the same fraction in every
// dtype: products of 64 to 4096 rows and columns, attention over 32 to 256 keys (orrery profile on
// an AMD EPYC core of 2024).
void set_cpu_parameters(EfficiencyTable& table) {
    for (const char* name : {"gemm.latency_us", "memory.latency_us"}) {
        table.set(name, "cpu", "*", {0.5, 1.0, "assumed"});
    }
    const auto measured = [&](const std::string& name, double value) {
        table.set(name, "cpu", "*", {value, 0.2, "measured: orrery profile"});
    };
    measured("gemm.asymptote", 0.92);
    measured("gemm.k_prologue", 22);
    for (const char* head_dim : {".d64", ".d128", ".d256"}) {
        measured(std::string{"attention.flash_2"} + head_dim, 0.75);
    }
    measured("attention.flash_2.prologue_tokens", 115);
    measured("attention.flash_2.causal_tokens", 1);
    measured("attention.flash_2.backward_ratio", 0.93);
}

void apply_generation_rules(EfficiencyTable& table) {
    // Heads of 64 without a window were not timed on Blackwell. The loss is taken from Hopper.
    const double narrow = table.value_or("attention.flash_3.d64", "hopper", "fp16", 1) /
                          table.value_or("attention.flash_3.d128", "hopper", "fp16", 1);
    for (const char* generation : {"blackwell", kBlackwellUltra}) {
        const EfficiencyParameter* wide = table.find("attention.flash_3.d128", generation, "fp16");
        if (wide != nullptr) {
            table.set("attention.flash_3.d64",
                      generation,
                      "fp16",
                      {wide->value * narrow, std::hypot(wide->sigma, 0.15), "rule: as hopper's"});
        }
    }
    // Head sizes that were not timed use the next smaller one that was.
    const EfficiencyTable original = table;
    for (const auto& [key, parameter] : original.rows()) {
        const auto& [name, generation, dtype] = key;
        if (!name.starts_with("attention.") || !name.ends_with(".d128")) {
            continue;
        }
        const std::string prefix = name.substr(0, name.size() - 4);
        for (const char* size : {"d64", "d256"}) {
            if (!original.rows().contains({prefix + size, generation, dtype})) {
                table.set(prefix + size,
                          generation,
                          dtype,
                          {parameter.value, std::hypot(parameter.sigma, 0.15), "rule: as d128"});
            }
        }
    }
    // mma.sync kernels lose as much from Ampere to Hopper as flash_2 does.
    const double loss = ratio(table, "attention.flash_2.d128", "hopper", "ampere");
    copy_attention(table, "flash_1", "ampere", "flash_1", "hopper", loss, 0.2);
    const double next = ratio(table, "attention.flash_2.d128", "blackwell", "hopper");
    copy_attention(table, "flash_1", "hopper", "flash_1", "blackwell", next, 0.2);
    copy_attention(table, "flash_2", "ampere", "flash_3", "ampere", 1.0, 0.1);
    for (const char* prefix : {"memory.", "gemm.", "attention."}) {
        copy_generation(table, prefix, "hopper", "ampere", 0.1);
        copy_generation(table, prefix, "ampere", "volta", 0.12);
        copy_generation(table, prefix, "hopper", "blackwell", 0.12);
    }
    copy_generation(table, "attention.", "blackwell", kBlackwellUltra, 0.1);
    set_cpu_parameters(table);
}

void set_residual(EfficiencyTable& table,
                  const std::string& name,
                  const std::string& generation,
                  double sigma) {
    const bool attention = name.starts_with("attention.");
    std::vector<std::string> names{name};
    if (attention) {
        names = {"attention.flash_1.residual",
                 "attention.flash_2.residual",
                 "attention.flash_3.residual"};
    }
    // Blackwell Ultra differs from Blackwell only in attention, and its rows are among those of
    // Blackwell. Most of their timings of attention are of the last kernels.
    if (generation == "blackwell") {
        table.set(names.back(), generation, "*", {sigma, 0.2, "fit: residuals"});
        if (attention) {
            table.set(names.back(), kBlackwellUltra, "*", {sigma, 0.2, "fit: residuals"});
        }
        return;
    }
    const std::string heir = generation == "ampere" ? "volta" : "blackwell";
    for (const std::string& entry : names) {
        const EfficiencyParameter follows{std::hypot(sigma, 0.12), 0.3, "rule: as " + generation};
        table.set(entry, generation, "*", {sigma, 0.2, "fit: residuals"});
        table.set(entry, heir, "*", follows);
        if (attention && heir == "blackwell") {
            table.set(entry, kBlackwellUltra, "*", follows);
        }
    }
}

}  // namespace orrery
