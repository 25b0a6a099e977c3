// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/device_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/statistics.h"
#include "runtime/cuda/cuda_result.h"

namespace orrery {
namespace {

constexpr std::int64_t kSampled = 1 << 16;  // elements of a result, at its begin and at its end
constexpr std::int64_t kDrawn = 1 << 18;    // distinct random numbers, which repeat
constexpr int kRepeats = 7;

// Tolerated relative difference: one way may round an intermediate result that the other does not.
double tolerance(Dtype dtype) {
    return dtype == Dtype::bf16 ? 1e-2 : 1e-4;
}

// In [-0.25, 0.25), so that sums of a thousand products are in the curved part of a GELU.
std::vector<std::byte> drawn_numbers(Dtype dtype) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(kDrawn * size_bytes(dtype)));
    const TensorView view{bytes.data(), dtype, kDrawn};
    std::uint32_t state = 12345;
    for (std::int64_t i = 0; i < kDrawn; ++i) {
        state = state * 1664525u + 1013904223u;
        store(view, i, static_cast<float>(state >> 8) * 0x1p-25f - 0.25f);
    }
    return bytes;
}

Result<void> fill(const TensorView& view, cudaStream_t stream) {
    const std::vector<std::byte> numbers = drawn_numbers(view.dtype);
    const auto all = static_cast<std::size_t>(view.size * size_bytes(view.dtype));
    Result<void> done;
    for (std::size_t at = 0; done && at < all; at += numbers.size()) {
        done = cuda_result(cudaMemcpyAsync(view.data + at,
                                           numbers.data(),
                                           std::min(numbers.size(), all - at),
                                           cudaMemcpyHostToDevice,
                                           stream),
                           "numbers to try on");
    }
    return done ? cuda_result(cudaStreamSynchronize(stream), "trying on the device") : done;
}

Result<void> add_samples(const std::vector<TensorView>& views, cudaStream_t stream, Samples& all) {
    for (const TensorView& view : views) {
        const std::int64_t count = std::min(kSampled, view.size);
        std::vector<float>& values = all.emplace_back();
        for (const std::int64_t first : {std::int64_t{0}, view.size - count}) {
            std::vector<std::byte> bytes(static_cast<std::size_t>(count * size_bytes(view.dtype)));
            Result<void> done = cuda_result(cudaMemcpyAsync(bytes.data(),
                                                            slice(view, first, count).data,
                                                            bytes.size(),
                                                            cudaMemcpyDeviceToHost,
                                                            stream),
                                            "the result of a trial");
            done = done ? cuda_result(cudaStreamSynchronize(stream), "trying on the device") : done;
            if (!done) {
                return done;
            }
            for (std::int64_t i = 0; i < count; ++i) {
                values.push_back(load(ConstTensorView{bytes.data(), view.dtype, count}, i));
            }
        }
    }
    return {};
}

// Fills the tensor with NaNs.
Result<void> make_void(const TensorView& view, cudaStream_t stream) {
    const auto bytes = static_cast<std::size_t>(view.size * size_bytes(view.dtype));
    return cuda_result(cudaMemsetAsync(view.data, 0xFF, bytes, stream), "trying on the device");
}

}  // namespace

double relative_difference(const Samples& actual, const Samples& expected) {
    double worst = 0;
    for (std::size_t t = 0; t < actual.size(); ++t) {
        double squares = 0;
        double size = 0;
        for (std::size_t i = 0; i < actual[t].size(); ++i) {
            const auto value = static_cast<double>(expected[t][i]);
            squares += std::pow(static_cast<double>(actual[t][i]) - value, 2);
            size += value * value;
        }
        const double relative = std::sqrt(squares / size);  // NaN if all are zero
        worst = std::isfinite(relative) ? std::max(worst, relative) : HUGE_VAL;
    }
    return worst;
}

bool alike(const Samples& actual, const Samples& expected, Dtype dtype) {
    return relative_difference(actual, expected) <= tolerance(dtype);
}

std::string trial_line(const TriedWay& tried) {
    std::string verdict = "taken";
    if (!tried.alike) {
        verdict = "WRONG";
    } else if (!tried.repeats) {
        verdict = "WRONG: other bits the second time";
    } else if (!tried.taken()) {
        verdict = fmt::format("slower than {:.1f} us", 1e6 * tried.best_s);
    }
    return fmt::format("tried {}, {}: off by {:.1e}{}: {}",
                       tried.work,
                       tried.way,
                       tried.difference,
                       tried.seconds > 0 ? fmt::format(", {:.1f} us", 1e6 * tried.seconds) : "",
                       verdict);
}

Result<void> DeviceTrial::draw() const {
    Result<void> done;
    for (const TensorView& view : tensors_.read) {
        done = done ? fill(view, stream_) : done;
    }
    return done;
}

Result<Samples> DeviceTrial::results_of(const Work& work) const {
    Result<void> done;
    for (const TensorView& view : tensors_.written) {
        done = done ? make_void(view, stream_) : done;
    }
    for (const TensorView& view : tensors_.added) {
        done = done ? fill(view, stream_) : done;
    }
    Samples all;
    done = done ? work() : done;
    done = done ? add_samples(tensors_.written, stream_, all) : done;
    done = done ? add_samples(tensors_.added, stream_, all) : done;
    return done ? Result<Samples>{std::move(all)} : unexpected<Error>(done.error());
}

Result<double> DeviceTrial::time_of(const Work& work) const {
    std::vector<double> seconds;
    for (int i = 0; i <= kRepeats; ++i) {  // the first run warms up
        float milliseconds = 0;
        Result<void> done = cuda_result(cudaEventRecord(begin_, stream_), "trying on the device");
        done = done ? work() : done;
        done = done ? cuda_result(cudaEventRecord(end_, stream_), "trying on the device") : done;
        done = done ? cuda_result(cudaEventSynchronize(end_), "trying on the device") : done;
        done =
            done ? cuda_result(cudaEventElapsedTime(&milliseconds, begin_, end_), "a time") : done;
        if (!done) {
            return unexpected<Error>(done.error());
        }
        if (i > 0) {
            seconds.push_back(1e-3 * static_cast<double>(milliseconds));
        }
    }
    return median(std::move(seconds));
}

}  // namespace orrery
