// SPDX-License-Identifier: Apache-2.0
// The implementation of the curves. Two bounds t1 and t2 combine to (t1^8 + t2^8)^(1/8), which
// rounds the corner of the roofline: at t1 = t2 neither bound hides the other completely.
#include "kernels/efficiency.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "engine/base/check.h"
#include "engine/world/power_clock.h"
#include "kernels/attention_device.h"
#include "kernels/cast/cast.h"
#include "kernels/catalogue.h"
#include "kernels/gemm/block_scaled.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/grouped_gemm.h"

namespace orrery {

namespace {

constexpr std::array<std::string_view, kNumDtypeClasses> kClasses{"fp16", "fp8", "fp32"};

std::size_t class_index(Dtype dtype) {
    const std::string_view wanted = dtype_class(dtype);
    return static_cast<std::size_t>(std::find(kClasses.begin(), kClasses.end(), wanted) -
                                    kClasses.begin());
}

double ceil_div(std::int64_t a, std::int64_t b) {
    return static_cast<double>((a + b - 1) / b);
}

double product(std::int64_t a, std::int64_t b, std::int64_t c) {
    return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

double eighth_power(double x) {
    const double square = x * x;
    const double fourth = square * square;
    return fourth * fourth;
}

// The roofline's corner, (compute^8 + memory^8)^(1/8). 8 adds 9 % if both take equal time, and less
// than 1 % if one takes 1.6 times the other. The maximum must be smooth because the fit needs
// derivatives; both limits are exact. Assumed, not fitted. Products and roots take a tenth of
// std::pow's time, which was a sixth of a served load's.
double corner(double compute, double memory) {
    return std::sqrt(std::sqrt(std::sqrt(eighth_power(compute) + eighth_power(memory))));
}

// d ln(corner) / d ln(bound): the share of the time that this bound explains.
double corner_share(double bound, double busy) {
    return eighth_power(bound / busy);
}

double bytes_of_result(const KernelCall& call) {
    const std::int64_t elements = call.dims[0] * call.dims[1] * call.dims[3];
    return static_cast<double>(gemm_result_bytes(elements, gemm_epilogue(call), gemm_output(call)));
}

struct Tile {
    std::int64_t rows;
    std::int64_t columns;
};
constexpr std::array<Tile, 6> kTiles{
    {{128, 256}, {256, 128}, {128, 128}, {128, 64}, {64, 128}, {64, 64}}};
constexpr std::array<std::int64_t, 4> kSplits{1, 2, 4, 8};
// The tile that kernels/gemm/gemm_cpu.cpp keeps in registers. For a CPU, [gemm.k_prologue] is the
// cost of loading and storing it.
constexpr std::array<Tile, 1> kCpuTiles{{{6, 16}}};
constexpr std::array<std::int64_t, 1> kCpuSplits{1};
constexpr double kLargestTilePerimeter = 1.5;  // of 128 x 256, in units of 128

// Time of the tensor cores: waves of tiles, each as deep as its share of k plus the prologue.
double gemm_compute_seconds(const KernelCall& call,
                            Tile tile,
                            std::int64_t split,
                            const GemmCurve& curve,
                            double num_sms,
                            double sm_rate) {
    const std::int64_t n = call.dims[1];
    const std::int64_t k = call.dims[2];
    const double tiles =
        row_tiles(call, tile.rows) * ceil_div(n, tile.columns) * static_cast<double>(split);
    const double waves = tiles / num_sms;
    const double sharpness = std::min(curve.wave_sharpness, 1.0);
    const double rounds = sharpness * std::ceil(waves) + (1 - sharpness) * std::max(waves, 1.0);
    const double depth = ceil_div(k, split) + curve.k_prologue;
    const double perimeter =
        128.0 / static_cast<double>(tile.rows) + 128.0 / static_cast<double>(tile.columns);
    const double slowdown = 1 + curve.tile_penalty * (perimeter - kLargestTilePerimeter);
    return rounds * 2.0 * product(tile.rows, tile.columns, 1) * depth * slowdown / sm_rate;
}

// The best choice, averaged with near ties: heuristics do not always pick the best, and the fit
// needs a smooth function of the parameters. The weights are (best / time)^40: a choice 5 % slower
// counts a seventh of the best, one 12 % slower a hundredth. Assumed, not fitted.
CurveTime soft_minimum(std::span<const CurveTime> choices) {
    double least = std::numeric_limits<double>::infinity();
    for (const CurveTime& choice : choices) {
        least = std::min(least, choice.seconds);
    }
    CurveTime mean;
    double total = 0;
    for (const CurveTime& choice : choices) {
        const double eighth = eighth_power(least / choice.seconds);
        const double weight = eighth * eighth * eighth * eighth * eighth;
        mean.seconds += weight * choice.seconds;
        mean.compute_share += weight * choice.compute_share;
        total += weight;
    }
    mean.seconds /= total;
    mean.compute_share /= total;
    return mean;
}

CurveTime block_scaled_time(const KernelCall& call,
                            const DeviceSpec& device,
                            const BlockScaledCurve& curve,
                            double memory_fraction) {
    const double bandwidth =
        static_cast<double>(device.memory_bandwidth.bits_per_second()) / 8 * memory_fraction;
    const double compute = block_scaled_seconds(call, device, curve);
    const double busy = corner(compute, static_cast<double>(call.bytes) / bandwidth);
    const double latency = device.kernel_latency.seconds() + curve.latency_us * 1e-6;
    return {.seconds = busy + latency,
            .compute_share = corner_share(compute, busy) * busy / (busy + latency),
            .relative_sigma = curve.residual};
}

double fraction_at(const std::array<double, 3>& fraction, std::int64_t head_dim) {
    const double octave = std::log2(static_cast<double>(head_dim) / 64.0);
    if (octave <= 0) {
        // Below 64, part of the tensor core's depth idles: the rate is in proportion to the head
        // size.
        return fraction[0] * std::exp2(octave);
    }
    const double x = std::min(octave, 2.0);
    const auto lower = static_cast<std::size_t>(x >= 1.0);
    const double share = x - static_cast<double>(lower);
    return std::exp((1 - share) * std::log(fraction[lower]) +
                    share * std::log(fraction[lower + 1]));
}

// The head size that a kernel computes. The first FlashAttention has kernels for 32, 64 and 128 and
// pads up to them (csrc/flash_attn/fmha_api.cpp of its version 1; the Triton port pads to the next
// power of two). Its successors have a kernel for every multiple of 32.
std::int64_t computed_width(const AttentionShape& shape) {
    constexpr std::int64_t kLargest = 128;
    if (shape.generation != AttentionGeneration::flash_1 || shape.head_dim > kLargest) {
        return shape.head_dim;
    }
    std::int64_t width = 32;
    while (width < shape.head_dim) {
        width *= 2;
    }
    return width;
}

// cuDNN's backward pass in FP8 also computes the blocks outside a window: on GB200, heads of 64
// with a window of 128 take 0.54, 1.7, 6.2 and 23 ms for 2,048 to 16,384 tokens (cudnn-frontend,
// benchmark/sdpa_benchmark_training/results/gpt_oss).
double computed_pairs(AttentionShape shape, Dtype dtype, bool backward) {
    if (backward && dtype_class(dtype) == "fp8") {
        shape.window = 0;
    }
    return static_cast<double>(visible_pairs(shape));
}

// FlashAttention 2 starts a block for each 128 queries of a head, the first queries first
// (csrc/flash_attn/src/flash_fwd_kernel.h). Under a causal mask the last block that starts is one
// of the longest, and the other SMs wait for a part of its excess over the shortest. Later kernels
// start the longest first. Pairs on one SM, all of the excess.
double pairs_of_last_block(const AttentionShape& shape, bool backward) {
    constexpr std::int64_t kQueries = 128;
    if (backward || !shape.causal || shape.generation != AttentionGeneration::flash_2 ||
        shape.seq_q <= kQueries) {
        return 0;
    }
    const auto seen = [&](std::int64_t keys) {
        return shape.window > 0 ? std::min(keys, shape.window) : keys;
    };
    const std::int64_t first = shape.seq_kv - shape.seq_q + kQueries;
    return static_cast<double>(kQueries * (seen(shape.seq_kv) - seen(first)));
}

AttentionCurve attention_curve(const EfficiencyTable& table,
                               const std::string& prefix,
                               const std::string& generation,
                               std::string_view dtype) {
    AttentionCurve curve;
    const auto read = [&](const char* name, double& value) {
        value = table.value_or(prefix + name, generation, dtype, value);
    };
    read(".d64", curve.fraction[0]);
    read(".d128", curve.fraction[1]);
    read(".d256", curve.fraction[2]);
    read(".prologue_tokens", curve.prologue_tokens);
    read(".causal_tokens", curve.causal_tokens);
    read(".backward_ratio", curve.backward_ratio);
    if (generation != "cpu") {  // whose cores take the blocks of a head one after the other
        read(".last_block", curve.last_block);
    }
    read(".residual", curve.residual);
    return curve;
}

// Products of a generation that draws all of its power run at the clock that the power allows. A
// part with more power than the one whose products were timed reaches more of its peak.
double power_headroom(const EfficiencyTable& table, const DeviceSpec& device) {
    const double watts = table.value_or("gemm.timed_at_watts", device.generation, "*", 0);
    const double peak = table.value_or("gemm.timed_at_tflops", device.generation, "*", 0);
    if (watts <= 0 || peak <= 0 || device.power <= 0) {
        return 1;
    }
    return clock_at_power(static_cast<double>(device.power) / watts) /
           (device.peak(Dtype::bf16).per_second() * 1e-12 / peak);
}

}  // namespace

double clock_under_limit(const DeviceSpec& device) {
    if (device.power_limit <= 0 || device.power_limit >= device.power) {
        return 1;
    }
    return clock_at_power(static_cast<double>(device.power_limit) /
                          static_cast<double>(device.power));
}

double burst_over_sustained(const EfficiencyTable& table,
                            const std::string& generation,
                            double asymptote) {
    const double burst = table.value_or("gemm.burst", generation, "fp16", 0);
    return burst > asymptote ? asymptote / burst : 1;
}

std::string attention_prefix(AttentionGeneration generation) {
    static constexpr std::array<const char*, kNumAttentionGenerations> kNames{
        "attention.flash_1", "attention.flash_2", "attention.flash_3"};
    return kNames[static_cast<std::size_t>(generation)];
}

EfficiencyCurves::EfficiencyCurves(const EfficiencyTable& table,
                                   const DeviceSpec& device,
                                   Load load)
    : device_(device), clock_(clock_under_limit(device)) {
    const std::string& generation = device.generation;
    const double headroom = power_headroom(table, device);
    for (std::size_t c = 0; c < kNumDtypeClasses; ++c) {
        const auto read = [&](const char* name, double& value) {
            value = table.value_or(name, generation, kClasses[c], value);
        };
        read("gemm.asymptote", gemm_[c].asymptote);
        gemm_[c].asymptote = std::min(1.0, gemm_[c].asymptote * headroom);
        read("gemm.k_prologue", gemm_[c].k_prologue);
        read("gemm.epilogue", gemm_[c].epilogue);
        read("gemm.tile_penalty", gemm_[c].tile_penalty);
        read("gemm.wave_sharpness", gemm_[c].wave_sharpness);
        read("gemm.latency_us", gemm_[c].latency_us);
        read("gemm.residual", gemm_[c].residual);
        read("gemm.residual_per_octave", gemm_[c].residual_per_octave);
        read("gemm.mx_scaled", gemm_[c].mx_scaled);
        for (std::size_t g = 0; g < kNumAttentionGenerations; ++g) {
            attention_[g][c] =
                attention_curve(table,
                                attention_prefix(static_cast<AttentionGeneration>(g)),
                                attention_device(device),
                                kClasses[c]);
        }
    }
    // Attention was timed in bursts, the products that their asymptote is from under a load.
    if (load == Load::sustained) {
        attention_clock_ =
            burst_over_sustained(table, generation, gemm_[class_index(Dtype::bf16)].asymptote);
    }
    gemm_range_ = GemmRange::of(table, generation);
    persistent_products_ = table.value_or("gemm.persistent", generation, "*", 0) > 0;
    const auto read = [&](const char* name, double& value) {
        value = table.value_or(name, generation, "*", value);
    };
    read("memory.fraction", memory_.fraction);
    read("memory.latency_us", memory_.latency_us);
    read("memory.sm_sensitivity", memory_.sensitivity);
    read("memory.residual", memory_.residual);
    read("memory.conversions", memory_.conversions);
}

CurveTime EfficiencyCurves::time(const KernelCall& call) const {
    switch (descriptor_of(call.kind).efficiency) {
        case EfficiencyClass::product:
            return gemm_time(call);
        case EfficiencyClass::attention:
            return attention_time(call);
        case EfficiencyClass::memory:
            break;
    }
    return memory_time(call);
}

double EfficiencyCurves::asymptote(Dtype dtype) const {
    return gemm_[class_index(dtype)].asymptote;
}

double EfficiencyCurves::sm_sensitivity(double compute_share) const {
    return compute_share + (1 - compute_share) * memory_.sensitivity;
}

bool EfficiencyCurves::is_persistent(const KernelCall& call) const {
    return persistent_products_ && descriptor_of(call.kind).efficiency == EfficiencyClass::product;
}

// An SM computes its tiles one after the other. All SMs finish theirs at about the same time, so
// that the memory's bandwidth limits how fast C is read and written (DeepGEMM of March 2025, whose
// tiles hide nothing: a product of 4,096 rows in fp8 takes 2.5 ns a column at k = 0, and 2.7 ns is
// its bf16 result at the bandwidth). A smaller tile loads more operand bytes per FLOP:
// its rate falls with half perimeter over area, relative to 128 x 256. A split of k makes more
// tiles of less depth, and adds the cost of summing the fp32 partial results.
CurveTime EfficiencyCurves::gemm_time(const KernelCall& call) const {
    // From Blackwell on, tensor cores apply the scales themselves.
    const BlockScaledCurve* scaled =
        is_block_scaled(call) ? block_scaled_curve(device_.generation) : nullptr;
    if (scaled != nullptr) {
        return block_scaled_time(call, device_, *scaled, memory_.fraction);
    }
    const bool cpu = device_.generation == "cpu";
    GemmCurve curve = gemm_[class_index(call.dtype)];
    curve.tile_penalty = cpu ? 0 : curve.tile_penalty;
    const auto [m, n, k, batch, unused_0, unused_1] = call.dims;
    ORRERY_CHECK(m > 0 && n > 0 && k > 0 && batch > 0);
    const double num_sms = std::max<double>(device_.num_sms, 1);
    const double sm_rate = device_.peak(call.dtype).per_second() * clock_ * curve.asymptote /
                           num_sms / (is_mx_scaled(call) ? curve.mx_scaled : 1);
    const double bandwidth =
        static_cast<double>(device_.memory_bandwidth.bits_per_second()) / 8 * memory_.fraction;
    const double epilogue = curve.epilogue * bytes_of_result(call) / bandwidth;
    std::array<CurveTime, kTiles.size() * kSplits.size()> choices{};
    std::size_t num_choices = 0;
    for (const Tile tile : cpu ? std::span<const Tile>{kCpuTiles} : std::span{kTiles}) {
        for (const std::int64_t split :
             cpu ? std::span<const std::int64_t>{kCpuSplits} : std::span{kSplits}) {
            const double compute = gemm_compute_seconds(call, tile, split, curve, num_sms, sm_rate);
            const double partial_sums =
                split == 1 ? 0.0 : 8.0 * static_cast<double>(split) * product(m, n, batch);
            const double memory = (static_cast<double>(call.bytes) + partial_sums) / bandwidth;
            const double tiles = compute + epilogue;
            const double busy = corner(tiles, memory);
            const double bound = corner_share(tiles, busy);
            choices[num_choices++] = {.seconds = busy, .compute_share = bound * compute / tiles};
        }
    }
    CurveTime best = soft_minimum({choices.data(), num_choices});
    const double latency = device_.kernel_latency.seconds() + curve.latency_us * 1e-6;
    best.compute_share *= best.seconds / (best.seconds + latency);
    best.seconds += latency;
    best.relative_sigma = curve.residual;
    best.distance_sigma =
        gemm_range_ ? curve.residual_per_octave * gemm_range_->octaves_outside(call) : 0;
    return best;
}

// pairs + rows * (prologue + causal) at the asymptotic rate, and the wait for the last block. Full
// attention over s keys thus reaches s / (s + prologue) of it. A causal mask wastes half of the
// blocks on the diagonal.
CurveTime EfficiencyCurves::attention_time(const KernelCall& call) const {
    const AttentionShape shape = attention_shape(call);
    const AttentionCurve& curve =
        attention_[static_cast<std::size_t>(shape.generation)][class_index(call.dtype)];
    const bool backward = call.kind == KernelKind::attention_backward;
    const double visible = static_cast<double>(visible_pairs(shape));
    const double pairs = computed_pairs(shape, call.dtype, backward);
    const double rows = static_cast<double>(shape.seq_q);
    const double extra =
        rows * (curve.prologue_tokens + (shape.causal ? curve.causal_tokens : 0.0));
    const std::int64_t width = computed_width(shape);
    const double flop = call.flop * static_cast<double>(width) /
                        static_cast<double>(std::max<std::int64_t>(shape.head_dim, 1));
    // One block per head and 128 queries. With fewer blocks than SMs, some SMs idle.
    const double heads = static_cast<double>(shape.batch * shape.heads);
    const double sms = std::max<double>(device_.num_sms, 1);
    const double busy_sms = std::min(sms, heads * ceil_div(shape.seq_q, 128));
    const double occupancy = busy_sms / sms;
    const double waited =
        curve.last_block * pairs_of_last_block(shape, backward) * busy_sms / heads;
    const double work = visible > 0 ? flop * (pairs + extra + waited) / visible : 0.0;
    const double rate = device_.peak(call.dtype).per_second() * clock_ * occupancy *
                        fraction_at(curve.fraction, width) /
                        (backward ? curve.backward_ratio : 1.0);
    const double bandwidth =
        static_cast<double>(device_.memory_bandwidth.bits_per_second()) / 8 * memory_.fraction;
    const double compute = work / rate;
    // A kernel that waits for memory, and older kernels, do not keep Blackwell's tensor cores busy
    // enough to reach the power limit.
    const bool limited = shape.generation == AttentionGeneration::flash_3_or_cudnn;
    const double busy = std::max(corner(compute, static_cast<double>(call.bytes) / bandwidth),
                                 limited ? compute / attention_clock_ : 0.0);
    const double latency = device_.kernel_latency.seconds() + memory_.latency_us * 1e-6;
    const double share = busy > 0 ? corner_share(compute, busy) : 0.0;
    return {.seconds = busy + latency,
            .compute_share = share * busy / (busy + latency),
            .relative_sigma = curve.residual};
}

CurveTime EfficiencyCurves::memory_time(const KernelCall& call) const {
    const double bandwidth =
        static_cast<double>(device_.memory_bandwidth.bits_per_second()) / 8 * memory_.fraction;
    // The limit of the CUDA cores. It can bind on devices with little compute, such as CPUs, and
    // for conversions element by element.
    const double compute =
        converts_one_by_one(call)
            ? call.flop / (memory_.conversions * 1e9 * std::max<double>(device_.num_sms, 1))
            : call.flop / device_.peak(Dtype::fp32).per_second();
    const double busy = corner(compute, static_cast<double>(call.bytes) / bandwidth);
    const double latency = device_.kernel_latency.seconds() + memory_.latency_us * 1e-6;
    const double share = busy > 0 ? corner_share(compute, busy) : 0.0;
    return {.seconds = busy + latency,
            .compute_share = share * busy / (busy + latency),
            .relative_sigma = memory_.residual};
}

}  // namespace orrery
