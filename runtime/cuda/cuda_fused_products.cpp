// SPDX-License-Identifier: Apache-2.0
// The choice of fused products in a CudaExecutor. Each kind is tested once on the device. On random
// numbers it must give the results of the product and the kernel one after the other, the same bits
// twice, and take less time than both. Otherwise, or if the library has no such product, it is not
// used. The choice is stored with the algorithms, so that later runs have the same bits. The
// library's bias gradient overwrites its output: it goes into scratch memory, and a small kernel
// adds it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "runtime/cuda/cuda_executor.h"
#include "runtime/cuda/cuda_kernels.h"
#include "runtime/cuda/cuda_result.h"
#include "runtime/cuda/device_trial.h"
#include "runtime/gemm_request.h"

namespace orrery {
namespace {

std::string fused_words(const GemmRequest& request) {
    const char* const with = request.epilogue == GemmEpilogue::gelu    ? "GELU"
                             : request.epilogue == GemmEpilogue::dgelu ? "GELU backward"
                                                                       : "bias gradient";
    return fmt::format(
        "gemm {} {} x {} x {} and {}", name(request.in), request.m, request.n, request.k, with);
}

TriedTensors tried_tensors(const BoundOp& product, const BoundOp& partner, GemmEpilogue epilogue) {
    TriedTensors tried;
    for (const BoundOperand& read : product.reads) {
        tried.read.push_back(read.view);
    }
    switch (epilogue) {
        case GemmEpilogue::gelu:
            tried.written = {partner.writes[0].view, product.writes[0].view};
            break;
        case GemmEpilogue::dgelu:
            tried.read.push_back(partner.reads[1].view);
            tried.written = {partner.writes[0].view};
            break;
        default:
            tried.added = {product.output().view, partner.accumulates[0].view};
            break;
    }
    return tried;
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
    if (!options_.use.fused) {
        return {};
    }
    for (const FusedProduct& pair : fused_products(rank_, plan)) {
        const Launch& product = plan.launches[pair.product];
        const FusedLaunch fused{.partner = plan.launches[pair.partner], .epilogue = pair.epilogue};
        const std::string key = fused_key(product, fused);
        if (key.empty() || fused_shares_.contains(key)) {
            continue;
        }
        std::optional<std::int64_t> share = gemm_->remembered(remembered_as(key));
        if (!share) {
            const Result<std::int64_t> tried = try_fused(product, fused);
            if (!tried) {
                return at(product, unexpected<Error>(tried.error()));
            }
            share = *tried;
            gemm_->remember(remembered_as(key), *share);
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

// The product's share of the time of both separate ops, in thousandths; 0 if the fused one is wrong
// or slower.
Result<std::int64_t> CudaExecutor::try_fused(const Launch& product, const FusedLaunch& fused) {
    const Launch& with = fused.partner;
    const cudaStream_t stream = device_->stream(product.stream);
    const Op& other = rank_.op(with.slot, with.op);
    const BoundOp op = rank_.bind_kernel(product.slot, rank_.op(product.slot, product.op));
    const BoundOp partner = rank_.bind_kernel(with.slot, other);
    const GemmCall call = fused_call(product, fused);
    if (!gemm_->prepare(call.request, call.pointers, stream)) {
        return 0;  // the library has no such product
    }
    const DeviceTrial trial{tried_tensors(op, partner, fused.epilogue), stream, start_, end_};
    if (const Result<void> drawn = trial.draw(); !drawn) {
        return unexpected<Error>(drawn.error());
    }
    const auto alone = [&] { return run_gemm(product, op); };
    const auto after = [&] { return run_kernel(with, other); };
    const auto together = [&] { return run_fused(product, fused); };
    const auto expected = trial.results_of([&] {
        const Result<void> done = alone();
        return done ? after() : done;
    });
    const auto actual = trial.results_of(together);
    const auto again = trial.results_of(together);
    for (const auto* result : {&expected, &actual, &again}) {
        if (!*result) {
            return unexpected<Error>(result->error());
        }
    }
    TriedWay tried{.work = fused_words(call.request),
                   .way = "in one product",
                   .difference = relative_difference(*actual, *expected),
                   .alike = alike(*actual, *expected, op.output().view.dtype),
                   .repeats = *actual == *again};
    if (!tried.right()) {
        tried_ways_.push_back(tried);
        return 0;
    }
    const auto alone_s = trial.time_of(alone);
    const auto after_s = trial.time_of(after);
    const auto together_s = trial.time_of(together);
    for (const auto* time : {&alone_s, &after_s, &together_s}) {
        if (!*time) {
            return unexpected<Error>(time->error());
        }
    }
    const double both_s = *alone_s + *after_s;
    tried.seconds = *together_s;
    tried.best_s = both_s;
    tried_ways_.push_back(tried);
    return *together_s < both_s
               ? std::clamp<std::int64_t>(std::llround(1e3 * *alone_s / both_s), 1, 999)
               : 0;
}

}  // namespace orrery
