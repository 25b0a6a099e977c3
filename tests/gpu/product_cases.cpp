// SPDX-License-Identifier: Apache-2.0
// Matrix products of cuBLASLt: drawn ones beside the CPU's, and those of a GPT-2 layer for their
// rates.
#include <fmt/format.h>

#include "kernels/gemm/gemm_cpu.h"
#include "kernels/gemm/gemm_cuda.h"
#include "tests/gpu/device_memory.h"
#include "tests/gpu/kernel_case.h"

namespace orrery::gpu_check {
namespace {

using numeric::Draw;
using numeric::Tensor;

// The library, opened when the first product runs; products of one process share it.
Result<CudaGemm*> library() {
    static DeviceMemory workspace;
    static std::unique_ptr<CudaGemm> opened;
    if (!opened) {
        workspace = DeviceMemory{kGemmWorkspaceBytes};
        auto gemm = CudaGemm::create({.device = "kernel_check",
                                      .num_sms = multiprocessors(),
                                      .algorithms = {},
                                      .workspace = workspace.data()});
        if (!gemm) {
            return unexpected<Error>(gemm.error());
        }
        opened = std::move(*gemm);
    }
    return opened.get();
}

GemmRequest request_of(const cpu::GemmShape& s, Dtype in, Dtype out) {
    return {.m = s.m,
            .n = s.n,
            .k = s.k,
            .in = in,
            .out = out,
            .transpose_a = s.transpose_a,
            .transpose_b = s.transpose_b,
            .steps_a = {.row = s.transpose_a ? s.m : s.k},
            .steps_b = {.row = s.transpose_b ? s.k : s.n},
            .steps_c = {.row = s.n}};
}

std::string text_of(const cpu::GemmShape& s) {
    return fmt::format("{} x {} x {}{}{}",
                       s.m,
                       s.n,
                       s.k,
                       s.transpose_a ? " A^T" : "",
                       s.transpose_b ? " B^T" : "");
}

GemmPointers pointers_of(const Views& v) {
    return {
        .a = v[0].data, .b = v[1].data, .c = v[2].data, .bias = v.size() > 3 ? v[3].data : nullptr};
}

// Operands: A, B, C and, with a bias, that. Its first run measures the library's algorithms.
KernelCase product(const cpu::GemmShape& s, Dtype in, Dtype out, GemmEpilogue epilogue) {
    KernelCase c{.kernel = "gemm", .shape = text_of(s), .dtype = in, .allowed = 1e-2};
    c.shape += epilogue == GemmEpilogue::bias         ? " + bias"
               : epilogue == GemmEpilogue::accumulate ? fmt::format(" added to {}", name(out))
                                                      : "";
    c.allowed = in == Dtype::bf16 ? 1e-2 : 1e-4;
    GemmRequest request = request_of(s, in, out);
    request.epilogue = epilogue == GemmEpilogue::bias ? epilogue : GemmEpilogue::none;
    request.accumulate = epilogue == GemmEpilogue::accumulate;
    c.on_stream = [=](CUstream_st* stream, const Views& v) {
        const Result<CudaGemm*> gemm = library();
        return gemm ? (*gemm)->run(request, pointers_of(v), stream)
                    : Result<void>{unexpected<Error>(gemm.error())};
    };
    c.prepare = [=](CUstream_st* stream, const Views& v) {
        const Result<CudaGemm*> gemm = library();
        return gemm ? (*gemm)->prepare(request, pointers_of(v), stream)
                    : Result<void>{unexpected<Error>(gemm.error())};
    };
    c.on_cpu = [=](const Views& v) {
        cpu::gemm(s,
                  v[0],
                  v[1],
                  v[2],
                  {.accumulate = request.accumulate, .bias = v.size() > 3 ? v[3] : TensorView{}});
    };
    return c;
}

}  // namespace

std::vector<KernelCase> drawn_products(Draw& draw, int round) {
    const Dtype in = round % 2 == 0 ? Dtype::bf16 : Dtype::fp32;
    std::vector<KernelCase> cases;
    for (const GemmEpilogue epilogue :
         {GemmEpilogue::none, GemmEpilogue::bias, GemmEpilogue::accumulate}) {
        const bool added = epilogue == GemmEpilogue::accumulate;
        const cpu::GemmShape s{.m = 8 * draw.between(1, 40),
                               .n = 8 * draw.between(1, 40),
                               .k = 8 * draw.between(1, 40),
                               .transpose_a = draw.coin(),
                               .transpose_b = draw.coin()};
        const Dtype out = added && draw.coin() ? Dtype::fp32 : in;
        KernelCase c = product(s, in, out, epilogue);
        c.operands = {
            draw.tensor(s.m * s.k, in), draw.tensor(s.k * s.n, in), draw.tensor(s.m * s.n, out)};
        if (epilogue == GemmEpilogue::bias) {
            c.operands.push_back(draw.tensor(s.n, out));
        }
        cases.push_back(std::move(c));
    }
    return cases;
}

std::vector<KernelCase> timed_products() {
    constexpr std::int64_t kTokens = 16'384;
    constexpr std::int64_t kHidden = 768;
    const cpu::GemmShape shapes[] = {
        {.m = kTokens, .n = 3 * kHidden, .k = kHidden},
        {.m = kTokens, .n = 4 * kHidden, .k = kHidden},
        {.m = kTokens, .n = kHidden, .k = 4 * kHidden},
        {.m = kTokens, .n = 50'304, .k = kHidden, .transpose_b = true},
        {.m = kHidden, .n = 4 * kHidden, .k = kTokens, .transpose_a = true},
        {.m = 8192, .n = 8192, .k = 8192}};
    std::vector<KernelCase> cases;
    for (const cpu::GemmShape& s : shapes) {
        const bool gradient = s.transpose_a;
        const Dtype out = gradient ? Dtype::fp32 : Dtype::bf16;
        KernelCase c = product(
            s, Dtype::bf16, out, gradient ? GemmEpilogue::accumulate : GemmEpilogue::none);
        c.on_cpu = nullptr;
        c.flop =
            2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
        c.make_operands = [=] {
            return std::vector<Tensor>{repeated(s.m * s.k, Dtype::bf16),
                                       repeated(s.k * s.n, Dtype::bf16),
                                       Tensor{s.m * s.n, out}};
        };
        cases.push_back(std::move(c));
    }
    return cases;
}

}  // namespace orrery::gpu_check
