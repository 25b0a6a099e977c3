// SPDX-License-Identifier: Apache-2.0
#include "kernels/cost_model.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "kernels/catalogue.h"
#include "kernels/core_mesh.h"

namespace orrery {

namespace {

// Logarithms of the dimensions. Attention packs two dimensions into the last one.
ShapePosition position_of(const KernelCall& call) {
    ShapePosition position{};
    for (std::size_t i = 0; i < call.dims.size(); ++i) {
        position[i] = std::log2(static_cast<double>(std::max<std::int64_t>(call.dims[i], 1)));
    }
    if (descriptor_of(call.kind).efficiency == EfficiencyClass::attention) {
        const AttentionShape shape = attention_shape(call);
        position[5] = std::log2(static_cast<double>(shape.head_dim));
        position[6] = std::log2(static_cast<double>(
            shape.window > 0 ? std::min(shape.window, shape.seq_kv) : shape.seq_kv));
    }
    return position;
}

std::uint32_t permille(double share) {
    return static_cast<std::uint32_t>(std::lround(std::clamp(share, 0.0, 1.0) * 1000));
}

}  // namespace

CostModel::CostModel(const DeviceSpec& device, const EfficiencyTable& table, const Profile& profile)
    : curves_(table, device) {
    for (const ProfileEntry& entry : profile) {
        if (entry.device != device.name) {
            continue;
        }
        const KernelCall& call = entry.call;
        const double seconds = entry.median.seconds();
        profile_[{call.kind, call.dtype, call.variant}].neighbours.push_back(
            {.dims = call.dims,
             .position = position_of(call),
             .seconds = seconds,
             .log_ratio = std::log(seconds / curves_.time(call).seconds),
             .variance = entry.spread * entry.spread + kNextMachineSigma * kNextMachineSigma});
    }
    for (auto& [key, rows] : profile_) {
        // The curve's sigma is the same for all shapes of a group.
        const MeasuredShape& any = rows.neighbours.front();
        const KernelCall call{.kind = std::get<0>(key),
                              .dtype = std::get<1>(key),
                              .variant = std::get<2>(key),
                              .dims = any.dims};
        rows.smoothness =
            most_likely_smoothness(rows.neighbours, curves_.time(call).relative_sigma);
    }
}

// Share of their memory bandwidth that host processors reach. CPU-Adam steps 1, 4 and 10 billion
// parameters in 0.22, 1.03 and 2.57 s (Ren et al., ZeRO-Offload, USENIX ATC 2021, table 4) on a
// DGX-2 with 2 x 6 channels of DDR4-2666 (256 GB/s). At 28 bytes a parameter that is 127, 109 and
// 109 GB/s.
constexpr double kHostMemoryEfficiency = 0.43;
constexpr double kHostMemorySigma = 0.1;

KernelTime CostModel::host_time(const KernelCall& call) const {
    const Bandwidth bandwidth = curves_.device().host_memory_bandwidth;
    ORRERY_CHECK(bandwidth > Bandwidth{});
    const double bytes_per_second =
        static_cast<double>(bandwidth.bits_per_second()) / 8 * kHostMemoryEfficiency;
    const Time duration = Time::seconds(static_cast<double>(call.bytes) / bytes_per_second);
    return {.duration = duration,
            .ideal = Time{},
            .source = CostSource::roofline,
            .relative_sigma = kHostMemorySigma,
            .sm_sensitivity_permille = 0};
}

// The curves were fitted on GPUs and CPUs. For a wafer, the peaks and the costs of moves between
// cores are known; the error of the prediction is assumed.
constexpr double kMeshSigma = 0.5;

KernelTime CostModel::mesh_time(const KernelCall& call) const {
    return {.duration = core_mesh_time(curves_.device(), call),
            .ideal = Flop{call.flop} / curves_.device().peak(call.dtype),
            .source = CostSource::roofline,
            .relative_sigma = kMeshSigma,
            .sm_sensitivity_permille = 0};
}

KernelTime CostModel::time(const KernelCall& call) const {
    if (call.tier != MemoryTier::hbm) {
        return host_time(call);
    }
    if (curves_.device().core_mesh_rows > 0) {
        return mesh_time(call);
    }
    const CurveTime curve = curves_.time(call);
    double seconds = curve.seconds;
    KernelTime answer{
        .duration = Time{},
        .ideal = Flop{call.flop} / curves_.device().peak(call.dtype),
        .source = CostSource::roofline,
        .relative_sigma = std::hypot(curve.relative_sigma, curve.distance_sigma),
        .distance_sigma = curve.distance_sigma,
        .sm_sensitivity_permille = permille(curves_.sm_sensitivity(curve.compute_share)),
        .persistent = curves_.is_persistent(call)};
    const auto group = profile_.find({call.kind, call.dtype, call.variant});
    if (group != profile_.end()) {
        const auto exact =
            std::find_if(group->second.neighbours.begin(),
                         group->second.neighbours.end(),
                         [&](const MeasuredShape& row) { return row.dims == call.dims; });
        if (exact != group->second.neighbours.end()) {
            seconds = exact->seconds;
            answer.source = CostSource::measured;
            answer.relative_sigma = std::sqrt(exact->variance);
            answer.distance_sigma = 0;
        } else if (const Correction found = interpolate(group->second.neighbours,
                                                        group->second.smoothness,
                                                        position_of(call),
                                                        curve.relative_sigma);
                   found.informed) {
            seconds *= std::exp(found.log_ratio);
            answer.source = CostSource::interpolated;
            answer.relative_sigma = found.sigma;
            answer.distance_sigma = 0;
        }
    }
    answer.duration = std::max(Time::seconds(seconds), answer.ideal);
    return answer;
}

}  // namespace orrery
