// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels on a real GPU: against their CPU twins on drawn shapes and numbers, twice, to
// see that they give the same bits; then their rates at the sizes of training, from CUDA events,
// the L2 cache being overwritten before every repeat. Without a GPU it says so and ends.
//
//   kernel_check [SEED [ROUNDS]]     both are drawn or 6 if not given
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

#include "tests/gpu/kernel_case.h"

namespace orrery::gpu_check {

numeric::Tensor repeated(std::int64_t size, Dtype dtype, float scale) {
    constexpr std::int64_t kPeriod = 1 << 16;
    static const numeric::Tensor drawn = numeric::Draw{1}.tensor(kPeriod, Dtype::fp32);
    numeric::Tensor tensor{size, dtype};
    for (std::int64_t i = 0; i < std::min(size, kPeriod); ++i) {
        store(tensor.view(), i, scale * std::abs(load(drawn.view(), i)));
    }
    const std::int64_t element = size_bytes(dtype);
    for (std::int64_t i = kPeriod; i < size; i += kPeriod) {
        const std::int64_t count = std::min(kPeriod, size - i);
        std::memcpy(tensor.view().data + i * element,
                    tensor.view().data,
                    static_cast<std::size_t>(count * element));
    }
    return tensor;
}

namespace {

constexpr std::int64_t kScratchBytes = std::int64_t{1} << 28;
constexpr std::size_t kFlushBytes = std::size_t{256} << 20;  // several times any L2

void require(cudaError_t error, const std::string& what) {
    if (error != cudaSuccess) {
        fmt::print(stderr, "{}: {}\n", what, cudaGetErrorString(error));
        std::exit(1);
    }
}

// Operands on the device, with room at the end of each that must stay as it is.
class DeviceOperands {
public:
    static constexpr std::size_t kGuard = 256;
    static constexpr int kGuardByte = 0xA5;

    explicit DeviceOperands(const KernelCase& c) : name_(c.kernel) {
        for (const numeric::Tensor& operand : c.operands) {
            void* memory = nullptr;
            const std::size_t bytes = size_of(operand.view());
            require(cudaMalloc(&memory, bytes + kGuard), name_);
            require(cudaMemcpy(memory, operand.view().data, bytes, cudaMemcpyDefault), name_);
            auto* data = static_cast<std::byte*>(memory);
            require(cudaMemset(data + bytes, kGuardByte, kGuard), name_);
            views_.push_back({data, operand.view().dtype, operand.size()});
        }
    }
    DeviceOperands(const DeviceOperands&) = delete;
    DeviceOperands& operator=(const DeviceOperands&) = delete;
    ~DeviceOperands() {
        for (const TensorView& view : views_) {
            cudaFree(view.data);
        }
    }
    const Views& views() const { return views_; }

    // As they are now; says where a guard is damaged.
    std::vector<numeric::Tensor> read(std::string& damage) const {
        std::vector<numeric::Tensor> operands;
        for (const TensorView& view : views_) {
            numeric::Tensor& host = operands.emplace_back(view.size, view.dtype);
            std::vector<unsigned char> guard(kGuard);
            require(cudaMemcpy(host.view().data, view.data, size_of(view), cudaMemcpyDefault),
                    name_);
            require(cudaMemcpy(guard.data(), view.data + size_of(view), kGuard, cudaMemcpyDefault),
                    name_);
            if (std::count(guard.begin(), guard.end(), kGuardByte) !=
                static_cast<std::ptrdiff_t>(kGuard)) {
                damage = fmt::format("writes beyond operand {}", operands.size() - 1);
            }
        }
        return operands;
    }

private:
    static std::size_t size_of(const ConstTensorView& view) {
        return static_cast<std::size_t>(view.size * size_bytes(view.dtype));
    }
    std::string name_;
    Views views_;
};

struct Gpu {
    std::byte* scratch = nullptr;
    std::byte* flush = nullptr;
    cudaStream_t stream = nullptr;
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;

    Gpu() {
        void* memory = nullptr;
        require(cudaMalloc(&memory, static_cast<std::size_t>(kScratchBytes)), "scratch memory");
        scratch = static_cast<std::byte*>(memory);
        require(cudaMalloc(&memory, kFlushBytes), "memory to flush with");
        flush = static_cast<std::byte*>(memory);
        require(cudaStreamCreate(&stream), "a stream");
        require(cudaEventCreate(&begin), "an event");
        require(cudaEventCreate(&end), "an event");
    }
    void run(const KernelCase& c, const Views& views) const {
        device::CudaQueue queue{stream, scratch, kScratchBytes, c.tensor_cores};
        c.on_gpu(queue, views);
        require(static_cast<cudaError_t>(queue.error()), c.kernel + " " + c.shape);
    }
    void wait(const KernelCase& c) const {
        require(cudaStreamSynchronize(stream), c.kernel + " " + c.shape);
    }
};

std::vector<numeric::Tensor> results(const Gpu& gpu, const KernelCase& c, std::string& damage) {
    const DeviceOperands operands{c};
    gpu.run(c, operands.views());
    gpu.wait(c);
    return operands.read(damage);
}

// Largest relative error of an operand; infinite if there is a NaN that the twin has not.
double error_of(const std::vector<numeric::Tensor>& actual,
                const std::vector<numeric::Tensor>& expected) {
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

bool check(const Gpu& gpu, KernelCase& c) {
    std::string wrong;
    const auto actual = results(gpu, c, wrong);
    const auto again = results(gpu, c, wrong);
    Views views;
    for (numeric::Tensor& operand : c.operands) {
        views.push_back(operand.view());
    }
    c.on_cpu(views);
    const double error = error_of(actual, c.operands);
    if (!(error <= c.allowed)) {
        wrong = fmt::format("is off by more than {:.0e}", c.allowed);
    } else if (!(actual == again)) {
        wrong = "gives other bits the second time";
    }
    fmt::print("{:24} {:34} {:5} {:9.2e}  {}\n",
               c.kernel,
               c.shape,
               name(c.dtype),
               error,
               wrong.empty() ? "ok" : "FAILED: " + wrong);
    return wrong.empty();
}

void time(const Gpu& gpu, const KernelCase& c) {
    constexpr int kRepeats = 15;
    const DeviceOperands operands{c};
    gpu.run(c, operands.views());
    gpu.wait(c);
    std::vector<double> seconds;
    for (int i = 0; i < kRepeats; ++i) {
        require(cudaMemsetAsync(gpu.flush, i, kFlushBytes, gpu.stream), "flushing");
        require(cudaEventRecord(gpu.begin, gpu.stream), "an event");
        gpu.run(c, operands.views());
        require(cudaEventRecord(gpu.end, gpu.stream), "an event");
        gpu.wait(c);
        float milliseconds = 0;
        require(cudaEventElapsedTime(&milliseconds, gpu.begin, gpu.end), "an event");
        seconds.push_back(1e-3 * static_cast<double>(milliseconds));
    }
    std::nth_element(seconds.begin(), seconds.begin() + kRepeats / 2, seconds.end());
    const double median = seconds[kRepeats / 2];
    fmt::print("{:30} {:30} {:10.1f} us {:9.1f} {}\n",
               c.kernel,
               c.shape,
               1e6 * median,
               c.flop > 0 ? 1e-12 * c.flop / median : 1e-9 * c.bytes / median,
               c.flop > 0 ? "TFLOP/s" : "GB/s");
}

int run(std::uint64_t seed, int rounds) {
    const Gpu gpu;
    cudaDeviceProp properties{};
    require(cudaGetDeviceProperties(&properties, 0), "the device");
    fmt::print("{} ({} SMs), seed {}\n\n", properties.name, properties.multiProcessorCount, seed);
    numeric::Draw draw{seed};
    // The products of warpgroups are Hopper's alone.
    const bool hopper = properties.major == 9 && properties.minor == 0;
    const auto runs_here = [&](const KernelCase& c) {
        return hopper || c.tensor_cores != device::TensorCores::warpgroups;
    };
    int failed = 0;
    int checked = 0;
    for (int round = 0; round < rounds; ++round) {
        for (KernelCase& c : drawn_cases(draw, round)) {
            if (runs_here(c)) {
                failed += check(gpu, c) ? 0 : 1;
                ++checked;
            }
        }
    }
    fmt::print("\n{} of {} cases failed\n\n", failed, checked);
    for (const auto& make : timed_cases()) {
        if (const KernelCase c = make(); runs_here(c)) {
            time(gpu, c);
        }
    }
    return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace orrery::gpu_check

int main(int argc, char** argv) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        fmt::print("no CUDA device: nothing was checked\n");
        return 0;
    }
    const std::uint64_t seed =
        argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::random_device{}();
    return orrery::gpu_check::run(seed, argc > 2 ? std::atoi(argv[2]) : 6);
}
