// SPDX-License-Identifier: Apache-2.0
// The choice of tensor cores for attention in a CudaExecutor. Those of warps and, on Hopper, those
// of warpgroups are tested once per kind of op on the device. On random numbers they must give the
// same results as the kernels without tensor cores, and the same bits twice. The fastest kernel
// that passes is used; if none does, the one without tensor cores. The choice is stored with the
// algorithms of matrix products, so that later runs have the same bits.
#include <fmt/format.h>

#include "engine/program/device_scalars.h"
#include "kernels/attention/attention_cuda.h"
#include "kernels/cuda/kernel_version.h"
#include "runtime/cuda/cuda_executor.h"
#include "runtime/cuda/cuda_kernels.h"
#include "runtime/cuda/cuda_result.h"
#include "runtime/cuda/device_trial.h"

namespace orrery {
namespace {

using device::TensorCores;

constexpr int kHopper = 90;

bool is_attention(const KernelCall& call) {
    return call.kind == KernelKind::attention_forward ||
           call.kind == KernelKind::attention_backward;
}

// A step of a ring has other operands than a whole attention.
std::string key_of(const BoundOp& op) {
    std::string key = fmt::format("{}_{}_v{}_{}x{}x{}",
                                  name(op.call.kind),
                                  name(op.call.dtype),
                                  op.call.variant,
                                  op.reads.size(),
                                  op.writes.size(),
                                  op.accumulates.size());
    for (const std::int64_t dim : op.call.dims) {
        key += fmt::format("_{}", dim);
    }
    return key;
}

std::string cores_words(TensorCores cores) {
    return cores == TensorCores::short_warpgroups ? "wgmma on short tiles"
           : cores == TensorCores::warpgroups     ? "wgmma"
                                                  : "mma.sync";
}
std::string attention_words(const KernelCall& call) {
    std::string words = fmt::format("{} {}", name(call.kind), name(call.dtype));
    for (std::size_t i = 0; i < call.dims.size() && call.dims[i] > 0; ++i) {
        words += fmt::format("{}{}", i == 0 ? " " : " x ", call.dims[i]);
    }
    return words;
}

// The scalars of dropout are not changed.
TriedTensors tried_tensors(const BoundOp& op) {
    TriedTensors tried;
    for (const BoundOperand& read : op.reads) {
        if (read.view.size != kNumDeviceScalars) {
            tried.read.push_back(read.view);
        }
    }
    for (const BoundOperand& write : op.writes) {
        tried.written.push_back(write.view);
    }
    for (const BoundOperand& sum : op.accumulates) {
        tried.added.push_back(sum.view);
    }
    return tried;
}

}  // namespace

TensorCores CudaExecutor::tensor_cores_of(const BoundOp& op) const {
    if (!is_attention(op.call) || tried_cores_) {
        return tried_cores_.value_or(TensorCores::none);
    }
    const auto chosen = tensor_cores_.find(key_of(op));
    return chosen == tensor_cores_.end() ? TensorCores::none : chosen->second;
}

Result<void> CudaExecutor::choose_tensor_cores(const LaunchPlan& plan) {
    for (const Launch& launch : plan.launches) {
        const Op& op = rank_.op(launch.slot, launch.op);
        if (op.kind() != OpKind::kernel || !is_attention(program().kernel(op)) ||
            !device::has_tensor_core_attention(program().kernel(op))) {
            continue;
        }
        const std::string key = key_of(rank_.bind_kernel(launch.slot, op));
        if (tensor_cores_.contains(key)) {
            continue;
        }
        std::optional<std::int64_t> choice = gemm_->remembered(remembered_as(key));
        if (!choice) {
            const Result<TensorCores> tried = try_tensor_cores(launch);
            if (!tried) {
                return at(launch, unexpected<Error>(tried.error()));
            }
            choice = static_cast<std::int64_t>(*tried);
            gemm_->remember(remembered_as(key), *choice);
        }
        const bool hopper = device_->info().compute_capability == kHopper;
        const auto most = hopper ? TensorCores::short_warpgroups : TensorCores::warps;
        const bool known = *choice >= 0 && *choice <= static_cast<std::int64_t>(most);
        tensor_cores_[key] = known ? static_cast<TensorCores>(*choice) : TensorCores::none;
    }
    return {};
}

// An earlier choice is reused only if it was made with the same kernels and the same candidates.
std::string CudaExecutor::remembered_as(const std::string& key) const {
    const CudaFeatures& use = options_.use;
    return fmt::format("{}_kernels_{}{}{}",
                       key,
                       device::kernel_version(),
                       use.wgmma ? "" : "_without_wgmma",
                       use.mma ? "" : "_without_mma");
}

bool CudaExecutor::may_use(TensorCores cores) const {
    return cores == TensorCores::warps ? options_.use.mma : options_.use.wgmma;
}

Result<TensorCores> CudaExecutor::try_tensor_cores(const Launch& launch) {
    const Op& op = rank_.op(launch.slot, launch.op);
    const cudaStream_t stream = device_->stream(launch.stream);
    const DeviceTrial trial{
        tried_tensors(rank_.bind_kernel(launch.slot, op)), stream, start_, end_};
    const auto on = [&](TensorCores cores) {
        return [this, &launch, &op, cores] {
            tried_cores_ = cores;
            const Result<void> done = run_kernel(launch, op);
            tried_cores_.reset();
            return done;
        };
    };
    const Result<void> drawn = trial.draw();
    const auto expected =
        drawn ? trial.results_of(on(TensorCores::none)) : unexpected<Error>(drawn.error());
    if (!expected) {
        return unexpected<Error>(expected.error());
    }
    std::vector<TensorCores> candidates{TensorCores::warps};
    if (device_->info().compute_capability == kHopper) {
        candidates.push_back(TensorCores::warpgroups);
        if (device::has_short_tile_attention(program().kernel(op))) {
            candidates.push_back(TensorCores::short_warpgroups);
        }
    }
    TensorCores best = TensorCores::none;
    double best_s = 0;
    for (const TensorCores cores : candidates) {
        if (!may_use(cores)) {
            continue;
        }
        const auto actual = trial.results_of(on(cores));
        const auto again = trial.results_of(on(cores));
        const auto seconds = trial.time_of(on(cores));
        if (!actual || !again || !seconds) {
            return unexpected<Error>(!actual ? actual.error()
                                             : (again ? seconds.error() : again.error()));
        }
        const TriedWay tried{.work = attention_words(program().kernel(op)),
                             .way = cores_words(cores),
                             .difference = relative_difference(*actual, *expected),
                             .alike = alike(*actual, *expected, Dtype::bf16),
                             .repeats = *actual == *again,
                             .seconds = *seconds,
                             .best_s = best_s};
        if (tried.taken()) {
            best = cores;
            best_s = *seconds;
        }
        tried_ways_.push_back(tried);
    }
    return best;
}

}  // namespace orrery
