// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/case_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace orrery::gpu_check {
namespace {

using device::TensorCores;
using numeric::Tensor;
using Tensors = std::vector<Tensor>;

constexpr std::int64_t kScratchBytes = std::int64_t{1} << 28;
constexpr std::int64_t kFlushBytes = std::int64_t{256} << 20;  // several times any L2

Tensors operands_of(const KernelCase& c) {
    return c.make_operands ? c.make_operands() : c.operands;
}

// Operands on the device, with room at the end of each that must stay as it is.
class DeviceOperands {
public:
    static constexpr std::int64_t kGuard = 256;
    static constexpr int kGuardByte = 0xA5;

    explicit DeviceOperands(const Tensors& operands) {
        for (const Tensor& operand : operands) {
            const std::size_t bytes = size_of(operand.view());
            const DeviceMemory& memory =
                memory_.emplace_back(static_cast<std::int64_t>(bytes) + kGuard);
            require(cudaMemcpy(memory.data(), operand.view().data, bytes, cudaMemcpyDefault),
                    "operands");
            require(cudaMemset(memory.data() + bytes, kGuardByte, kGuard), "operands");
            views_.push_back({memory.data(), operand.view().dtype, operand.size()});
        }
    }
    const Views& views() const { return views_; }

    // As they are now; says where a guard is damaged.
    Tensors read(std::string& damage) const {
        Tensors operands;
        for (const TensorView& view : views_) {
            Tensor& host = operands.emplace_back(view.size, view.dtype);
            std::vector<unsigned char> guard(static_cast<std::size_t>(kGuard));
            require(cudaMemcpy(host.view().data, view.data, size_of(view), cudaMemcpyDefault),
                    "results");
            require(cudaMemcpy(guard.data(), view.data + size_of(view), kGuard, cudaMemcpyDefault),
                    "results");
            if (std::count(guard.begin(), guard.end(), kGuardByte) != kGuard) {
                damage = fmt::format("writes beyond operand {}", operands.size() - 1);
            }
        }
        return operands;
    }

private:
    static std::size_t size_of(const ConstTensorView& view) {
        return static_cast<std::size_t>(view.size * size_bytes(view.dtype));
    }
    std::vector<DeviceMemory> memory_;
    Views views_;
};

// Largest relative error of an operand; infinite if there is a NaN that the twin has not.
double error_of(const Tensors& actual, const Tensors& expected) {
    double worst = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        if (actual[i] == expected[i] || actual[i].view().dtype == Dtype::int32) {
            continue;
        }
        const double error = numeric::relative_error(actual[i], expected[i].doubles());
        worst = std::isnan(error) ? HUGE_VAL : std::max(worst, error);
    }
    return worst;
}

CheckedCase row_of(const KernelCase& c) {
    return {.family = family_of(c),
            .kernel = c.kernel,
            .shape = c.shape,
            .dtype = std::string{name(c.dtype)},
            .cores = cores_of(c),
            .status = "ok"};
}

}  // namespace

CaseRunner::CaseRunner() : scratch_(kScratchBytes), flush_(kFlushBytes) {
    cudaDeviceProp properties{};
    require(cudaGetDeviceProperties(&properties, 0), "the device");
    name_ = fmt::format("{} ({} SMs)", properties.name, properties.multiProcessorCount);
    hopper_ = properties.major == 9 && properties.minor == 0;
    require(cudaStreamCreate(&stream_), "a stream");
    require(cudaEventCreate(&begin_), "an event");
    require(cudaEventCreate(&end_), "an event");
}

CaseRunner::~CaseRunner() {
    cudaEventDestroy(end_);
    cudaEventDestroy(begin_);
    cudaStreamDestroy(stream_);
}

bool CaseRunner::has_cores_of(const KernelCase& c) const {
    return hopper_ || c.tensor_cores.value_or(TensorCores::none) < TensorCores::warpgroups;
}

void CaseRunner::run(const KernelCase& c, TensorCores cores, const Views& views) const {
    if (c.on_stream) {
        if (const Result<void> done = c.on_stream(stream_, views); !done) {
            throw CudaFailure{done.error().to_string()};
        }
        return;
    }
    device::CudaQueue queue{stream_, scratch_.data(), kScratchBytes, cores};
    c.on_gpu(queue, views);
    require(static_cast<cudaError_t>(queue.error()), "launch");
}

Tensors CaseRunner::results(const KernelCase& c,
                            TensorCores cores,
                            const Tensors& operands,
                            std::string& damage) const {
    if (c.prepare) {  // writes to its result
        const DeviceOperands other{operands};
        if (const Result<void> done = c.prepare(stream_, other.views()); !done) {
            throw CudaFailure{done.error().to_string()};
        }
    }
    const DeviceOperands own{operands};
    run(c, cores, own.views());
    require(cudaStreamSynchronize(stream_), "run");
    return own.read(damage);
}

CheckedCase CaseRunner::check(const KernelCase& c) const {
    CheckedCase row = row_of(c);
    const TensorCores cores = c.tensor_cores.value_or(TensorCores::none);
    Tensors expected = operands_of(c);
    std::string wrong;
    const Tensors actual = results(c, cores, expected, wrong);
    const Tensors again = results(c, cores, expected, wrong);
    if (c.beside_rows) {
        expected = results(c, TensorCores::none, expected, wrong);
    } else {
        Views views;
        for (Tensor& operand : expected) {
            views.push_back(operand.view());
        }
        c.on_cpu(views);
    }
    row.error = error_of(actual, expected);
    if (!(*row.error <= c.allowed)) {
        wrong = fmt::format("is off by more than {:.0e}", c.allowed);
    } else if (!(actual == again)) {
        wrong = "gives other bits the second time";
    }
    row.status = wrong.empty() ? row.status : wrong;
    return row;
}

CheckedCase CaseRunner::time(const KernelCase& c) const {
    constexpr int kRepeats = 15;
    const TensorCores cores = c.tensor_cores.value_or(TensorCores::none);
    const DeviceOperands operands{operands_of(c)};
    if (c.prepare) {
        if (const Result<void> done = c.prepare(stream_, operands.views()); !done) {
            throw CudaFailure{done.error().to_string()};
        }
    }
    run(c, cores, operands.views());
    require(cudaStreamSynchronize(stream_), "run");
    std::vector<double> seconds;
    for (int i = 0; i < kRepeats; ++i) {
        require(cudaMemsetAsync(flush_.data(), i, kFlushBytes, stream_), "flushing");
        require(cudaEventRecord(begin_, stream_), "an event");
        run(c, cores, operands.views());
        require(cudaEventRecord(end_, stream_), "an event");
        require(cudaStreamSynchronize(stream_), "run");
        float milliseconds = 0;
        require(cudaEventElapsedTime(&milliseconds, begin_, end_), "an event");
        seconds.push_back(1e-3 * static_cast<double>(milliseconds));
    }
    std::nth_element(seconds.begin(), seconds.begin() + kRepeats / 2, seconds.end());
    const double median = seconds[kRepeats / 2];
    CheckedCase row = row_of(c);
    row.status = "timed";
    row.seconds = median;
    row.rate = c.flop > 0 ? 1e-12 * c.flop / median : 1e-9 * c.bytes / median;
    row.unit = c.flop > 0 ? "TFLOP/s" : "GB/s";
    return row;
}

}  // namespace orrery::gpu_check
