// SPDX-License-Identifier: Apache-2.0
// Which products of a CudaExecutor take another op's work with them. Each kind is tried once on the
// device itself: on drawn numbers it must leave what the product and the kernel leave one after the
// other, the same bits twice, and take less time than both; else, or where the library has no such
// product, it is not used. The choice is kept with the algorithms, so that later runs have the same
// bits. The library's bias gradient is put down, not added: it goes into scratch memory, and a
// small kernel adds it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/check.h"
#include "runtime/cuda/cuda_executor.h"
#include "runtime/cuda/cuda_kernels.h"
#include "runtime/cuda/cuda_result.h"
#include "runtime/gemm_request.h"

namespace orrery {
namespace {

constexpr std::int64_t kSampled = 1 << 16;  // elements of a result, at its begin and at its end
constexpr std::int64_t kDrawn = 1 << 18;    // elements, repeated
constexpr int kRepeats = 7;

// Of ||fused - separate|| / ||separate||: the values before the GELU are not rounded in between.
double tolerance(Dtype dtype) {
    return dtype == Dtype::bf16 ? 1e-2 : 1e-4;
}

// In [-0.25, 0.25): sums of products of a thousand such numbers are where a GELU bends.
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
                           "numbers to try a product on");
    }
    return done ? cuda_result(cudaStreamSynchronize(stream), "trying a product") : done;
}

using Samples = std::vector<std::vector<float>>;  // by tensor

Result<Samples> samples(const std::vector<TensorView>& views, cudaStream_t stream) {
    Samples all;
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
                                            "the result of a product");
            done = done ? cuda_result(cudaStreamSynchronize(stream), "trying a product") : done;
            if (!done) {
                return unexpected<Error>(done.error());
            }
            for (std::int64_t i = 0; i < count; ++i) {
                values.push_back(load(ConstTensorView{bytes.data(), view.dtype, count}, i));
            }
        }
    }
    return all;
}

// NaNs.
Result<void> make_void(const TensorView& view, cudaStream_t stream) {
    const auto bytes = static_cast<std::size_t>(view.size * size_bytes(view.dtype));
    return cuda_result(cudaMemsetAsync(view.data, 0xFF, bytes, stream), "trying a product");
}

// False for NaNs.
bool alike(const Samples& actual, const Samples& expected, Dtype dtype) {
    for (std::size_t t = 0; t < actual.size(); ++t) {
        double difference = 0;
        double size = 0;
        for (std::size_t i = 0; i < actual[t].size(); ++i) {
            const auto value = static_cast<double>(expected[t][i]);
            difference += std::pow(static_cast<double>(actual[t][i]) - value, 2);
            size += value * value;
        }
        if (!(size > 0 && std::sqrt(difference) <= tolerance(dtype) * std::sqrt(size))) {
            return false;
        }
    }
    return true;
}

// What both ways read, what they leave, and what they add to.
struct Tried {
    std::vector<TensorView> inputs;
    std::vector<TensorView> results;
    bool adds = false;
};

Tried tried_tensors(const BoundOp& product, const BoundOp& partner, GemmEpilogue epilogue) {
    Tried tried;
    for (const BoundOperand& read : product.reads) {
        tried.inputs.push_back(read.view);
    }
    switch (epilogue) {
        case GemmEpilogue::gelu:
            tried.results = {partner.writes[0].view, product.writes[0].view};
            break;
        case GemmEpilogue::dgelu:
            tried.inputs.push_back(partner.reads[1].view);
            tried.results = {partner.writes[0].view};
            break;
        default:
            tried.adds = true;
            tried.results = {product.output().view, partner.accumulates[0].view};
            break;
    }
    return tried;
}

// Numbers to add to, or numbers that must not stay.
Result<void> begin_results(const Tried& tried, cudaStream_t stream) {
    Result<void> done;
    for (const TensorView& result : tried.results) {
        done = done ? (tried.adds ? fill(result, stream) : make_void(result, stream)) : done;
    }
    return done;
}

template <class Work>
Result<Samples> results_of(const Tried& tried, cudaStream_t stream, const Work& work) {
    Result<void> done = begin_results(tried, stream);
    done = done ? work() : done;
    return done ? samples(tried.results, stream) : unexpected<Error>(done.error());
}

}  // namespace

GemmCall CudaExecutor::fused_call(const Launch& launch, const FusedLaunch& fused) const {
    const Launch& with = fused.partner;
    const BoundOp product = rank_.bind_kernel(launch.slot, rank_.op(launch.slot, launch.op));
    const BoundOp partner = rank_.bind_kernel(with.slot, rank_.op(with.slot, with.op));
    GemmPointers pointers{.a = product.reads[0].view.data,
                          .b = product.reads[1].view.data,
                          .c = product.output().view.data};
    switch (fused.epilogue) {
        case GemmEpilogue::gelu:
            pointers.c = partner.writes[0].view.data;
            pointers.bias = product.reads[2].view.data;
            pointers.aux = product.writes[0].view.data;
            break;
        case GemmEpilogue::dgelu:
            pointers.c = partner.writes[0].view.data;
            pointers.aux = partner.reads[1].view.data;
            break;
        default:
            pointers.bias = memory_[index(launch.stream)].scratch;
            break;
    }
    GemmRequest request = gemm_request(product, launch.reserved_sms);
    request.epilogue = fused.epilogue;
    return aligned_call({request, pointers});
}

std::string CudaExecutor::fused_key(const Launch& product, const FusedLaunch& fused) const {
    const GemmRequest request = fused_call(product, fused).request;
    return why_not_cublaslt(request).empty() ? "fused_" + key_of(lt_gemm(request)) : "";
}

Result<void> CudaExecutor::choose_fused_products(const LaunchPlan& plan) {
    for (const FusedProduct& pair : fused_products(rank_, plan)) {
        const Launch& product = plan.launches[pair.product];
        const FusedLaunch fused{.partner = plan.launches[pair.partner], .epilogue = pair.epilogue};
        const std::string key = fused_key(product, fused);
        if (key.empty() || fused_shares_.contains(key)) {
            continue;
        }
        std::optional<std::int64_t> share = gemm_->remembered(key);
        if (!share) {
            const Result<std::int64_t> tried = try_fused(product, fused);
            if (!tried) {
                return at(product, unexpected<Error>(tried.error()));
            }
            share = *tried;
            gemm_->remember(key, *share);
        }
        fused_shares_[key] = *share;
    }
    return {};
}

void CudaExecutor::use_fused_products(Prepared& prepared, const LaunchPlan& plan) const {
    for (const FusedProduct& pair : fused_products(rank_, plan)) {
        const Launch& product = plan.launches[pair.product];
        FusedLaunch fused{.partner = plan.launches[pair.partner], .epilogue = pair.epilogue};
        const auto share = fused_shares_.find(fused_key(product, fused));
        if (share != fused_shares_.end() && share->second > 0) {
            fused.share = 1e-3 * static_cast<double>(share->second);
            prepared.absorbed.insert({fused.partner.slot, fused.partner.op});
            prepared.fused[{product.slot, product.op}] = std::move(fused);
        }
    }
}

Result<void> CudaExecutor::run_fused(const Launch& product, const FusedLaunch& fused) {
    const cudaStream_t stream = device_->stream(product.stream);
    const GemmCall call = fused_call(product, fused);
    const Result<void> done = gemm_->run(call.request, call.pointers, stream);
    if (!done || fused.epilogue != GemmEpilogue::bias_gradient) {
        return done;
    }
    const Launch& with = fused.partner;
    const BoundOp partner = rank_.bind_kernel(with.slot, rank_.op(with.slot, with.op));
    const TensorView gradient = partner.accumulates[0].view;
    const StreamMemory& memory = memory_[index(product.stream)];
    ORRERY_CHECK(memory.scratch_bytes >= gradient.size * size_bytes(gradient.dtype));
    device::CudaQueue queue{stream, memory.scratch, memory.scratch_bytes};
    add_on_cuda(queue, {memory.scratch, gradient.dtype, gradient.size}, gradient);
    return cuda_result(static_cast<cudaError_t>(queue.error()), "adding a bias gradient");
}

// The median of a few runs of `work`, the first of which warms up.
template <class Work>
Result<double> CudaExecutor::time_of(cudaStream_t stream, const Work& work) {
    std::vector<double> seconds;
    for (int i = 0; i <= kRepeats; ++i) {
        float milliseconds = 0;
        Result<void> done = cuda_result(cudaEventRecord(start_, stream), "trying a product");
        done = done ? work() : done;
        done = done ? cuda_result(cudaEventRecord(end_, stream), "trying a product") : done;
        done = done ? cuda_result(cudaEventSynchronize(end_), "trying a product") : done;
        done =
            done ? cuda_result(cudaEventElapsedTime(&milliseconds, start_, end_), "a time") : done;
        if (!done) {
            return unexpected<Error>(done.error());
        }
        seconds.push_back(1e-3 * static_cast<double>(milliseconds));
    }
    std::sort(seconds.begin() + 1, seconds.end());
    return seconds[1 + kRepeats / 2];
}

// The product's share of the time of both, in thousandths; 0 if the fused one is wrong or slower.
Result<std::int64_t> CudaExecutor::try_fused(const Launch& product, const FusedLaunch& fused) {
    const Launch& with = fused.partner;
    const cudaStream_t stream = device_->stream(product.stream);
    const Op& other = rank_.op(with.slot, with.op);
    const BoundOp op = rank_.bind_kernel(product.slot, rank_.op(product.slot, product.op));
    const Tried tried = tried_tensors(op, rank_.bind_kernel(with.slot, other), fused.epilogue);
    const GemmCall call = fused_call(product, fused);
    if (!gemm_->prepare(call.request, call.pointers, stream)) {
        return 0;  // the library has no such product
    }
    for (const TensorView& input : tried.inputs) {
        if (const Result<void> done = fill(input, stream); !done) {
            return unexpected<Error>(done.error());
        }
    }
    const auto alone = [&] { return run_gemm(product, op); };
    const auto after = [&] { return run_kernel(with, other); };
    const auto together = [&] { return run_fused(product, fused); };
    const auto expected = results_of(tried, stream, [&] {
        const Result<void> done = alone();
        return done ? after() : done;
    });
    const auto actual = results_of(tried, stream, together);
    const auto again = results_of(tried, stream, together);
    for (const auto* result : {&expected, &actual, &again}) {
        if (!*result) {
            return unexpected<Error>(result->error());
        }
    }
    if (*actual != *again || !alike(*actual, *expected, tried.results.front().dtype)) {
        return 0;
    }
    const auto alone_s = time_of(stream, alone);
    const auto after_s = time_of(stream, after);
    const auto together_s = time_of(stream, together);
    for (const auto* time : {&alone_s, &after_s, &together_s}) {
        if (!*time) {
            return unexpected<Error>(time->error());
        }
    }
    const double both_s = *alone_s + *after_s;
    return *together_s < both_s
               ? std::clamp<std::int64_t>(std::llround(1e3 * *alone_s / both_s), 1, 999)
               : 0;
}

}  // namespace orrery
