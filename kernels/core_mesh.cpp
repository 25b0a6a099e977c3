// SPDX-License-Identifier: Apache-2.0
#include "kernels/core_mesh.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "kernels/attention/attention.h"
#include "kernels/device_spec.h"

namespace orrery {

namespace {

// Stages of one half of a line, whose sum ends in the middle.
std::int64_t stages_of(std::int64_t cores) {
    return cores / 2;
}

double per_core(double elements, std::int64_t cores, Dtype dtype) {
    return std::ceil(elements / static_cast<double>(cores)) *
           static_cast<double>(size_bytes(dtype));
}

// The sums of scores, maximum, exponentials and output.
double attention_sums_s(const DeviceSpec& device, const KernelCall& call) {
    const AttentionShape shape = attention_shape(call);
    const double queries = static_cast<double>(shape.batch) * static_cast<double>(shape.seq_q) *
                           static_cast<double>(shape.heads);
    const auto keys =
        static_cast<double>(shape.window > 0 ? std::min(shape.window, shape.seq_kv) : shape.seq_kv);
    const std::int64_t rows = device.core_mesh_rows;
    const std::int64_t columns = device.core_mesh_columns;
    const double one = queries * static_cast<double>(size_bytes(call.dtype));
    return core_line_sum_s(device, columns, per_core(queries * keys, rows, call.dtype)) +
           core_line_sum_s(device, rows, one) * 2 +
           core_line_sum_s(
               device,
               rows,
               per_core(
                   queries * static_cast<double>(shape.value_head_dim()), columns, call.dtype));
}

}  // namespace

double core_line_sum_s(const DeviceSpec& device, std::int64_t cores, double bytes) {
    if (cores < 2) {
        return 0;
    }
    const auto group = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(cores))));
    const std::int64_t stages = stages_of(group) + stages_of((cores + group - 1) / group);
    const double payload_s =
        bytes / (static_cast<double>(device.core_link_bandwidth.bits_per_second()) / 8);
    return static_cast<double>(cores) * device.core_hop_latency.seconds() +
           static_cast<double>(stages) * (device.core_step_latency.seconds() + payload_s) +
           payload_s;
}

namespace {

double sums_s(const DeviceSpec& device, const KernelCall& call) {
    const std::int64_t rows = device.core_mesh_rows;
    const auto of_rows = [&](double values) {
        return core_line_sum_s(device, rows, values * sizeof(float));
    };
    const auto dim = [&](std::size_t i) {
        return static_cast<double>(std::max<std::int64_t>(call.dims[i], 1));
    };
    switch (call.kind) {
        case KernelKind::gemm:
            return core_line_sum_s(
                device,
                rows,
                per_core(dim(0) * dim(1) * dim(3), device.core_mesh_columns, call.dtype));
        case KernelKind::attention_forward:
            return attention_sums_s(device, call);
        case KernelKind::rmsnorm_forward:
        case KernelKind::layernorm_forward:
            return of_rows(dim(0));
        case KernelKind::softmax_forward:
            return of_rows(dim(0) * dim(1) * dim(2)) * 2;
        default:
            return 0;
    }
}

}  // namespace

Time core_mesh_time(const DeviceSpec& device, const KernelCall& call) {
    ORRERY_CHECK(device.core_mesh_rows > 0 && device.core_mesh_columns > 0);
    const double compute_s = call.flop / device.peak(call.dtype).per_second();
    const double memory_s = static_cast<double>(call.bytes) * 8 /
                            static_cast<double>(device.memory_bandwidth.bits_per_second());
    return Time::seconds(std::max(compute_s, memory_s) + sums_s(device, call));
}

}  // namespace orrery
