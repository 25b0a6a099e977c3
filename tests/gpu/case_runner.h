// SPDX-License-Identifier: Apache-2.0
// Runs cases on the GPU: beside their twins, twice, to see that they give the same bits, with room
// behind each operand that must stay as it is; and for their times, from CUDA events, the L2 cache
// being overwritten before every repeat.
#pragma once

#include "tests/gpu/check_report.h"
#include "tests/gpu/device_memory.h"
#include "tests/gpu/kernel_case.h"

namespace orrery::gpu_check {

// CUDA errors are thrown (CudaFailure).
class CaseRunner {
public:
    CaseRunner();
    CaseRunner(const CaseRunner&) = delete;
    CaseRunner& operator=(const CaseRunner&) = delete;
    ~CaseRunner();

    std::string device() const { return name_; }
    // Whether the device has the case's tensor cores: those of warpgroups are Hopper's alone.
    bool has_cores_of(const KernelCase& c) const;
    // Beside the CPU, or the kernels by rows.
    CheckedCase check(const KernelCase& c) const;
    CheckedCase time(const KernelCase& c) const;

private:
    void run(const KernelCase& c, device::TensorCores cores, const Views& views) const;
    std::vector<numeric::Tensor> results(const KernelCase& c,
                                         device::TensorCores cores,
                                         const std::vector<numeric::Tensor>& operands,
                                         std::string& damage) const;

    std::string name_;
    bool hopper_ = false;
    DeviceMemory scratch_;
    DeviceMemory flush_;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t begin_ = nullptr;
    cudaEvent_t end_ = nullptr;
};

}  // namespace orrery::gpu_check
