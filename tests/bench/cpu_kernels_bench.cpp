// SPDX-License-Identifier: Apache-2.0
// What the CPU kernels reach on every clone that this CPU can run (kernels/vector_clones.h), as a
// share of what multiplications and additions reach that never leave the registers. Fails where a
// share is that of a loop that spills its sums (15 % of the GEMM) or is not vectorised (10 % of the
// exponentials).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "kernels/gemm/gemm_cpu.h"
#include "kernels/vector_clones.h"
#include "kernels/vector_math.h"

namespace orrery {
namespace {

constexpr double kLeastShareOfGemm = 0.3;
constexpr double kLeastShareOfExponentials = 0.15;
constexpr double kFlopOfExponential = 22;

double best_seconds(const std::function<void()>& run) {
    double best = 1e9;
    for (int round = 0; round < 7; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        run();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        best = std::min(best, took.count());
    }
    return best;
}

constexpr std::int64_t kPeakRounds = 2'000'000;
constexpr int kChains = 12;  // independent, so that the units never wait

// x = x a + b in kChains registers, a multiplication and an addition each. A macro for the reason
// of ORRERY_GEMM_TILE (kernels/gemm/gemm_cpu.cpp).
#define ORRERY_PEAK_LOOP(name, target, width)                                       \
    target float name(float a, float b) {                                           \
        using Vector = float __attribute__((vector_size((width) * sizeof(float)))); \
        Vector chains[kChains] = {};                                                \
        for (std::int64_t i = 0; i < kPeakRounds; ++i) {                            \
            for (Vector & chain : chains) {                                         \
                chain = chain * a + b;                                              \
            }                                                                       \
        }                                                                           \
        float total = 0;                                                            \
        for (const Vector& chain : chains) {                                        \
            total += chain[0];                                                      \
        }                                                                           \
        return total;                                                               \
    }
ORRERY_PEAK_LOOP(peak_loop_baseline, , 4)
ORRERY_PEAK_LOOP(peak_loop_avx2, ORRERY_TARGET_AVX2, 8)
ORRERY_PEAK_LOOP(peak_loop_avx512, ORRERY_TARGET_AVX512, 16)
#undef ORRERY_PEAK_LOOP

double peak_gflops(VectorClone clone) {
    const auto loop = clone == VectorClone::avx512 ? peak_loop_avx512
                      : clone == VectorClone::avx2 ? peak_loop_avx2
                                                   : peak_loop_baseline;
    const double width = clone == VectorClone::avx512 ? 16 : clone == VectorClone::avx2 ? 8 : 4;
    volatile float sink = 0;
    const double seconds = best_seconds([&] { sink = loop(0.5f, sink * 0 + 1.0f); });
    return 2 * width * kChains * static_cast<double>(kPeakRounds) / seconds * 1e-9;
}

double gemm_gflops() {
    constexpr std::int64_t n = 384;
    const std::vector<float> a(n * n, 0.5f);
    const std::vector<float> b(n * n, 0.25f);
    std::vector<float> c(n * n);
    const auto view = [](auto& x) {
        return slice(ConstTensorView{reinterpret_cast<const std::byte*>(x.data()),
                                     Dtype::fp32,
                                     static_cast<std::int64_t>(x.size())},
                     0,
                     n * n);
    };
    const double seconds = best_seconds([&] {
        cpu::gemm({.m = n, .n = n, .k = n},
                  view(a),
                  view(b),
                  {reinterpret_cast<std::byte*>(c.data()), Dtype::fp32, n * n});
    });
    return 2.0 * n * n * n / seconds * 1e-9;
}

// Billions of elements a second of exponentials(), the slowest of the row functions.
double exponentials_a_nanosecond() {
    std::vector<float> row(4096, 0.5f);
    constexpr int kRows = 100;
    const double seconds = best_seconds([&] {
        for (int i = 0; i < kRows; ++i) {
            exponentials(row, 0.1f);
        }
    });
    return kRows * static_cast<double>(row.size()) / seconds * 1e-9;
}

int run() {
    bool good = true;
    fmt::print("clone      peak GFLOP/s   GEMM  share  exponentials/ns  share\n");
    for (const VectorClone clone : vector_clones()) {
        use_vector_clone(clone);
        const double peak = peak_gflops(clone);
        const double gemm = gemm_gflops();
        const double exponentials = exponentials_a_nanosecond();
        const double share = kFlopOfExponential * exponentials / peak;
        const bool enough = gemm >= kLeastShareOfGemm * peak && share >= kLeastShareOfExponentials;
        fmt::print("{:<10}{:>13.1f}{:>7.1f}{:>6.0f}%{:>17.2f}{:>6.0f}%{}\n",
                   to_string(clone),
                   peak,
                   gemm,
                   100 * gemm / peak,
                   exponentials,
                   100 * share,
                   enough ? "" : "  TOO SLOW");
        good = good && enough;
    }
    return good ? 0 : 1;
}

}  // namespace
}  // namespace orrery

int main() {
    return orrery::run();
}
