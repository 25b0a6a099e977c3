// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/kernel_timings.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace orrery {

std::vector<std::int64_t> kernel_counts(const Program& program) {
    std::vector<std::int64_t> runs(program.segments.size(), 0);
    for (const Role& role : program.roles) {
        for (const Slot& slot : role.slots) {
            ++runs[index(slot.segment)];
        }
    }
    std::vector<std::int64_t> counts(program.kernels.size(), 0);
    for (std::size_t s = 0; s < program.segments.size(); ++s) {
        for (const Op& op : program.segments[s].ops) {
            if (op.kind() == OpKind::kernel) {
                counts[index(op.payload.kernel())] += runs[s];
            }
        }
    }
    return counts;
}

namespace {

// Whether products run beside exchanges of rows: passes are then cut, and the exchanges are
// segments of their own (models/segments/pass_parts.h). What products lose beside other collectives
// is in the factors of products in steps, which were fitted on steps without experts. Transformer
// Engine's overlapped collectives also leave SMs free of blocks (its math_sms).
bool overlaps_exchanges(const Program& program) {
    return std::ranges::any_of(program.segments, [&](const Segment& segment) {
        bool exchanges = false;
        bool multiplies = false;
        for (const Op& op : segment.ops) {
            exchanges |=
                op.kind() == OpKind::collective && program.collective(op).rows.dispatcher != 0;
            multiplies |=
                op.kind() == OpKind::kernel && program.kernel(op).kind == KernelKind::gemm;
        }
        return exchanges && !multiplies;
    });
}

}  // namespace

DeviceTimings time_kernels(const Program& program,
                           const KernelCost& cost,
                           const StepEfficiency& step,
                           const DeviceSpec& device,
                           double slowdown,
                           std::span<const KernelCall> loaded) {
    DeviceTimings timings;
    timings.num_sms = device.num_sms;
    const bool overlaps = overlaps_exchanges(program);
    timings.kernels.reserve(program.kernels.size() + loaded.size());
    const auto add = [&](const KernelCall& call) {
        KernelTime time = cost.time(call);
        const double factor =
            slowdown * (time.source == CostSource::roofline ? step.factor(call) : 1.0);
        time.duration = Time::seconds(time.duration.seconds() * factor);
        time.persistent = time.persistent && overlaps;
        timings.kernels.push_back(time);
    };
    std::ranges::for_each(program.kernels, add);
    std::ranges::for_each(loaded, add);
    // Other products give SMs back between tiles. Megatron Bridge has exchanges on streams of high
    // priority there, which come first (high_priority_a2a_comm_stream, with fused grouped MLPs).
    timings.communication_queues = std::ranges::any_of(timings.kernels, &KernelTime::persistent);
    return timings;
}

KernelSummary summarise_kernels(const Program& program, const DeviceTimings& timings) {
    const std::vector<std::int64_t> counts = kernel_counts(program);
    std::array<double, 3> by_source{};
    std::array<double, kNumKernelKinds> sigma_of_kind{};  // seconds
    double far = 0;  // seconds; only products can be far, and their errors are correlated
    double total = 0;
    for (std::size_t k = 0; k < counts.size(); ++k) {
        const KernelTime& time = timings.kernels[k];
        const double seconds = time.duration.seconds() * static_cast<double>(counts[k]);
        total += seconds;
        by_source[static_cast<std::size_t>(time.source)] += seconds;
        sigma_of_kind[static_cast<std::size_t>(program.kernels[k].kind)] +=
            seconds * time.relative_sigma;
        far += seconds * time.distance_sigma;
    }
    KernelSummary summary;
    if (total <= 0) {
        return summary;
    }
    double variance = 0;
    for (const double sigma : sigma_of_kind) {
        variance += sigma * sigma;
    }
    summary.sources = {.measured = by_source[0] / total,
                       .interpolated = by_source[1] / total,
                       .roofline = by_source[2] / total};
    summary.relative_sigma = std::sqrt(variance) / total;
    summary.distance_sigma = far / total;
    summary.mean_per_rank = Time::seconds(total / static_cast<double>(program.roles.size()));
    return summary;
}

}  // namespace orrery
