// SPDX-License-Identifier: Apache-2.0
// General efficiency curves: the time of a kernel on a device without a profile. There are three
// families, each a roofline with losses that depend on the shape:
//   GEMM       tiles in waves over the SMs, a prologue in k, an asymptotic fraction of the peak,
//              and the memory bound; the best tile and split of k, as chosen by cuBLAS
//   attention  visible pairs + a prologue for every query row, at a rate by kernel generation
//   memory     latency + bytes / (fraction * bandwidth), for all other kernels
// The parameters come from an EfficiencyTable; their names are in brackets below. Not modelled: the
// data's effect on power and so on the clock (5 to 10 % on H100), and L2 hits between kernels.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "kernels/attention/attention.h"
#include "kernels/device_spec.h"
#include "kernels/efficiency_table.h"
#include "kernels/gemm_range.h"

namespace orrery {

inline constexpr std::size_t kNumDtypeClasses = 3;          // fp16, fp8, fp32
inline constexpr std::size_t kNumAttentionGenerations = 3;  // AttentionGeneration

struct GemmCurve {
    // [gemm.asymptote] fraction of the peak for infinite k and waves. [gemm.timed_at_watts] and
    // [gemm.timed_at_tflops]: power and bf16 peak of the device that it was timed on, where power
    // limits it.
    double asymptote = 0.8;
    double k_prologue = 64;  // [gemm.k_prologue] cost of filling the pipeline, in elements of k
    // [gemm.epilogue] share of the time of reading and writing C that no other tile's products hide
    double epilogue = 0;
    double tile_penalty = 0.2;    // [gemm.tile_penalty] loss of smaller tiles, see efficiency.cpp
    double wave_sharpness = 0.5;  // [gemm.wave_sharpness] 1: a partial wave costs a whole one
    double latency_us = 2;        // [gemm.latency_us] on top of the device's kernel_latency
    double residual = 0.1;        // [gemm.residual] relative sigma of the remaining error
    double residual_per_octave =
        0;  // [.residual_per_octave] more of it, outside the measured range
    // [gemm.mx_scaled] time of a product in MXFP8 over that with a scale for each tensor
    double mx_scaled = 1;
};

struct AttentionCurve {
    // [attention.<kernel>.d64 .d128 .d256] fraction of the peak on long sequences, forward, by head
    // size. Other sizes are interpolated over log(head_dim).
    std::array<double, 3> fraction{0.4, 0.5, 0.5};
    double prologue_tokens = 150;  // [.prologue_tokens] cost of starting a row of queries, in keys
    double causal_tokens = 100;    // [.causal_tokens] additional keys for half masked blocks
    double backward_ratio = 1.15;  // [.backward_ratio] forward rate / backward rate
    // [.last_block] part of the last block's excess that the other SMs wait for
    double last_block = 0;
    double residual = 0.1;  // [.residual]
};

struct MemoryCurve {
    double fraction = 0.85;    // [memory.fraction] of the datasheet's bandwidth
    double latency_us = 1;     // [memory.latency_us] on top of the device's kernel_latency
    double sensitivity = 0.3;  // [memory.sm_sensitivity] of a memory-bound kernel to held SMs
    double residual = 0.1;     // [memory.residual]
    // [memory.conversions] 10^9 elements a second that an SM converts element by element (cast.h).
    double conversions = 2;
};

struct CurveTime {
    double seconds = 0;
    double compute_share = 0;  // 1: bound by the SMs alone, 0: by memory and latency
    double relative_sigma = 0;
    // The part of relative_sigma due to a product's distance from the measured ones (both add in
    // squares). Products at that distance share this error.
    double distance_sigma = 0;
};

// Where power limits products, it limits them after milliseconds. A kernel that was timed alone, a
// few runs of it, had a higher clock than it has between the kernels of a step.
enum class Load : std::uint8_t { sustained, burst };

class EfficiencyCurves {
public:
    EfficiencyCurves(const EfficiencyTable& table,
                     const DeviceSpec& device,
                     Load load = Load::sustained);

    CurveTime time(const KernelCall& call) const;
    // The sensitivity of a kernel with this compute share to SMs that communication holds.
    double sm_sensitivity(double compute_share) const;
    // Whether a kernel launches one block for each SM and fixes the block's tiles at the launch.
    bool is_persistent(const KernelCall& call) const;
    const DeviceSpec& device() const { return device_; }
    // The fraction of the peak that products reach with infinite k and waves.
    double asymptote(Dtype dtype) const;

private:
    CurveTime gemm_time(const KernelCall& call) const;
    CurveTime attention_time(const KernelCall& call) const;
    CurveTime memory_time(const KernelCall& call) const;

    DeviceSpec device_;
    double clock_ = 1;
    double attention_clock_ = 1;  // over the clock of a burst
    std::array<GemmCurve, kNumDtypeClasses> gemm_;
    bool persistent_products_ = false;  // [gemm.persistent]
    std::optional<GemmRange> gemm_range_;
    std::array<std::array<AttentionCurve, kNumDtypeClasses>, kNumAttentionGenerations> attention_;
    MemoryCurve memory_;
};

// The clock under the device's power limit, relative to the clock at its full power. Products and
// attention run at it. 1 if there is no limit below the full power.
double clock_under_limit(const DeviceSpec& device);

// Time of a burst of products over that under a sustained load, at most 1: the asymptote under
// power over that of the best products ([gemm.burst]). `asymptote`: of 16-bit products.
double burst_over_sustained(const EfficiencyTable& table,
                            const std::string& generation,
                            double asymptote);

// "attention.flash_1", "attention.flash_2", "attention.flash_3": prefixes of names in the table.
std::string attention_prefix(AttentionGeneration generation);

}  // namespace orrery
