// SPDX-License-Identifier: Apache-2.0
#include "kernels/measurement.h"

#include <cmath>
#include <optional>

#include "kernels/catalogue.h"
#include "kernels/csv_rows.h"

namespace orrery {

namespace {

enum Column : std::size_t {
    kCase,
    kFamily,
    kGpu,
    kKernel,
    kVariant,
    kPass,
    kDtype,
    kM,
    kN,
    kK,
    kBatch,
    kSeq,
    kHeads,
    kKvHeads,
    kHeadDim,
    kCausal,
    kTimeUs,
    kTflops,
};
const std::vector<std::string> kMeasurementColumns{"case",
                                                   "family",
                                                   "gpu",
                                                   "kernel",
                                                   "variant",
                                                   "pass",
                                                   "dtype",
                                                   "m",
                                                   "n",
                                                   "k",
                                                   "batch",
                                                   "seq",
                                                   "heads",
                                                   "kv_heads",
                                                   "head_dim",
                                                   "causal",
                                                   "time_us",
                                                   "tflops"};

std::int64_t integer(const CsvRow& row, Column column, Errors& errors) {
    const auto value = parse_integer(row.fields[column]);
    if (!value || *value <= 0) {
        errors.push_back({row.where,
                          kMeasurementColumns[column] + " '" + row.fields[column] +
                              "' is not a positive whole number",
                          ""});
        return 1;
    }
    return *value;
}

// Attention of eager PyTorch: products, scale, mask and softmax as separate kernels.
std::vector<KernelCall> unfused_attention(const AttentionShape& shape, Dtype dtype) {
    const std::int64_t batch = shape.batch * shape.heads;
    const std::int64_t q = shape.seq_q;
    const std::int64_t kv = shape.seq_kv;
    const std::int64_t d = shape.head_dim;
    const SoftmaxShape softmax{.batch = shape.batch,
                               .heads = shape.heads,
                               .seq_q = q,
                               .seq_kv = kv,
                               .causal = shape.causal,
                               .dropout = false,
                               .unfused_steps = true};
    const auto product = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
        return gemm(m, n, k, batch, dtype, GemmEpilogue::none, dtype);
    };
    return {product(q, kv, d),
            softmax_forward(softmax, dtype),
            product(q, d, kv),
            product(q, kv, d),
            product(kv, d, q),  // dP, dV
            softmax_backward(softmax, dtype),
            product(q, d, kv),
            product(kv, d, q)};  // dQ, dK
}

// The number in a word "name=value" of a variant; 0 without it.
std::int64_t value_in(const std::string& variant, std::string_view word) {
    const std::size_t at = variant.find(word);
    return at == std::string::npos ? 0
                                   : parse_integer(variant.substr(at + word.size())).value_or(0);
}

std::optional<Measurement> attention_row(const CsvRow& row, Dtype dtype, Errors& errors) {
    AttentionShape shape{.batch = integer(row, kBatch, errors),
                         .seq_q = integer(row, kSeq, errors),
                         .seq_kv = integer(row, kSeq, errors),
                         .heads = integer(row, kHeads, errors),
                         .kv_heads = integer(row, kKvHeads, errors),
                         .head_dim = integer(row, kHeadDim, errors),
                         .causal = row.fields[kCausal] == "true"};
    const std::string& variant = row.fields[kVariant];
    Measurement result{.family = "attention"};
    shape.window = value_in(variant, "sliding_window=");
    shape.value_dim = value_in(variant, "value_dim=");
    if (variant == "unfused-pytorch") {
        result.family = "unfused_attention";
        result.calls = unfused_attention(shape, dtype);
        return result;
    }
    if (variant == "fa1") {
        shape.generation = AttentionGeneration::flash_1;
    } else if (variant == "fa2") {
        shape.generation = AttentionGeneration::flash_2;
    } else if (variant == "fa3" || variant.starts_with("cudnn9")) {
        shape.generation = AttentionGeneration::flash_3_or_cudnn;
    } else {
        return std::nullopt;
    }
    if (row.fields[kPass].starts_with("forward")) {
        result.calls.push_back(attention_forward(shape, dtype));
    }
    if (row.fields[kPass].ends_with("backward")) {
        result.calls.push_back(attention_backward(shape, dtype));
    }
    // If the printed rate implies different work than these columns, the row is of another kernel:
    // multi-head latent attention has smaller value heads.
    double flop = 0;
    for (const KernelCall& call : result.calls) {
        flop += call.flop;
    }
    const double printed = parse_number(row.fields[kTflops]).value_or(0) * 1e6 *
                           parse_number(row.fields[kTimeUs]).value_or(0);
    if (printed > 0 && std::abs(printed / flop - 1) > 0.1) {
        return std::nullopt;
    }
    return result;
}

// McCalpin's STREAM kernels over arrays of n elements, as kernels of the catalogue with equal
// traffic.
KernelCall stream(const std::string& variant, std::int64_t n, Dtype dtype) {
    if (variant == "dot") {
        return gradient_norm(2 * n, dtype);  // reads two arrays
    }
    return variant == "copy" ? cast(n, dtype, dtype) : residual_add(n, 1, dtype);
}

std::optional<Measurement> measurement(const CsvRow& row, Errors& errors) {
    const std::string& kernel = row.fields[kKernel];
    const auto dtype = dtype_named(row.fields[kDtype]);
    if (kernel != "gemm" && kernel != "rms_norm" && kernel != "attention" && kernel != "stream") {
        return std::nullopt;
    }
    if (!dtype) {
        errors.push_back({row.where, "unknown dtype '" + row.fields[kDtype] + "'", ""});
        return std::nullopt;
    }
    if (kernel == "attention") {
        return attention_row(row, *dtype, errors);
    }
    const std::int64_t m = integer(row, kM, errors);
    if (kernel == "stream") {
        return Measurement{.family = "memory", .calls = {stream(row.fields[kVariant], m, *dtype)}};
    }
    const std::int64_t n = integer(row, kN, errors);
    if (kernel == "rms_norm") {
        const bool backward = row.fields[kPass] == "backward";
        // torch.compile's backward reaches 40 % of the bandwidth: it is not the catalogue's kernel.
        if (backward && row.fields[kVariant] == "torch_compile") {
            return std::nullopt;
        }
        return Measurement{
            .family = "memory",
            .calls = {backward ? rmsnorm_backward(m, n, *dtype) : rmsnorm_forward(m, n, *dtype)}};
    }
    const Dtype out = *dtype == Dtype::fp8 ? Dtype::bf16 : *dtype;
    return Measurement{
        .family = "gemm",
        .calls = {gemm(m, n, integer(row, kK, errors), 1, *dtype, GemmEpilogue::none, out)}};
}

}  // namespace

ResultOrErrors<std::vector<Measurement>> read_measurements(
    const std::string& path, const std::map<std::string, DeviceSpec>& devices) {
    const auto rows = read_csv(path, kMeasurementColumns, true);
    if (!rows) {
        return unexpected<Errors>(rows.error());
    }
    std::vector<Measurement> result;
    Errors errors;
    for (const CsvRow& row : *rows) {
        if (!devices.contains(row.fields[kGpu])) {
            continue;
        }
        auto item = measurement(row, errors);
        if (!item) {
            continue;
        }
        const auto time_us = parse_number(row.fields[kTimeUs]);
        if (!time_us || *time_us <= 0) {
            errors.push_back(
                {row.where, "time_us '" + row.fields[kTimeUs] + "' is not a positive number", ""});
            continue;
        }
        item->name = row.fields[kCase];
        item->source = row.fields[kFamily];
        item->device = row.fields[kGpu];
        item->seconds = *time_us * 1e-6;
        result.push_back(std::move(*item));
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return result;
}

}  // namespace orrery
