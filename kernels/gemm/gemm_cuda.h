// SPDX-License-Identifier: Apache-2.0
// Matrix products on a GPU by cuBLASLt: inputs in fp32 or bf16, sums in fp32. Descriptors are
// created once per shape. The algorithms that the library's heuristic proposes are timed once per
// shape, and a file keeps the fastest (gemm_algorithms.h).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/result.h"
#include "kernels/gemm/gemm_layout.h"

struct CUstream_st;  // cudaStream_t is CUstream_st*

namespace orrery {

inline constexpr std::int64_t kGemmWorkspaceBytes = std::int64_t{32} << 20;

// Addresses of the request's operands on the device.
struct GemmPointers {
    const void* a = nullptr;
    const void* b = nullptr;
    void* c = nullptr;
    const void* bias = nullptr;  // read by epilogues bias and gelu; written by bias_gradient
    void* aux = nullptr;         // pre-activations: written by gelu, read by dgelu
};

struct CudaGemmOptions {
    std::string device;  // name of the device of the algorithms
    int num_sms = 0;
    std::filesystem::path algorithms;  // the file; empty: none
    void* workspace = nullptr;         // kGemmWorkspaceBytes of device memory
};

class CudaGemm {
public:
    // For the current device.
    static Result<std::unique_ptr<CudaGemm>> create(const CudaGemmOptions& options);
    virtual ~CudaGemm() = default;

    // Measures the algorithms for this product, unless they are known. Overwrites C. Not allowed
    // while a graph is captured.
    virtual Result<void> prepare(const GemmRequest& request,
                                 const GemmPointers& pointers,
                                 CUstream_st* stream) = 0;
    virtual Result<void> run(const GemmRequest& request,
                             const GemmPointers& pointers,
                             CUstream_st* stream) = 0;
    // Other measured choices about a product, kept in the same file.
    virtual std::optional<std::int64_t> remembered(const std::string& key) const = 0;
    virtual void remember(const std::string& key, std::int64_t value) = 0;
    // Writes the measured algorithms to the file.
    virtual Result<void> save() = 0;
    virtual std::string version() const = 0;
    // The number of products measured by this object, without those read from the file.
    virtual std::size_t measured() const = 0;
};

}  // namespace orrery
