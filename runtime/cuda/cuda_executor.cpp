// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/base/check.h"
#include "runtime/cuda/cuda_kernels.h"
#include "runtime/cuda/cuda_result.h"
#include "runtime/gemm_request.h"
#include "runtime/kernel_operands.h"

namespace orrery {
namespace {

// The time a device may take to stop after its collectives were aborted.
constexpr std::chrono::milliseconds kMostAfterAnError{5'000};
constexpr const char* kTrainingMemoryHint =
    "a smaller plan.micro_batch_size, recomputation, or more GPUs";

bool is_gemm(const Program& program, const Op& op) {
    return op.kind() == OpKind::kernel && program.kernel(op).kind == KernelKind::gemm;
}

// Joins adjacent tensors, so that one call clears them.
std::vector<TensorView> joined(std::vector<TensorView> views) {
    std::ranges::sort(views, {}, &TensorView::data);
    std::vector<TensorView> result;
    for (const TensorView& view : views) {
        const std::int64_t bytes = view.size * size_bytes(view.dtype);
        if (bytes == 0) {
            continue;
        }
        // Only alignment padding lies between the two.
        if (!result.empty() &&
            view.data - (result.back().data + result.back().size) < kTensorAlignment) {
            TensorView& last = result.back();
            last.size = std::max(last.size, view.data + bytes - last.data);
        } else {
            result.push_back({view.data, Dtype::uint8, bytes});
        }
    }
    return result;
}

std::string gib(std::int64_t bytes) {
    return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / 0x1p30);
}

}  // namespace

Result<std::unique_ptr<CudaExecutor>> CudaExecutor::create(const Program& program,
                                                           RankId rank,
                                                           Transport* transport,
                                                           const CudaOptions& options) {
    std::unique_ptr<CudaExecutor> executor{new CudaExecutor(program, rank, options)};
    if (const Result<void> done = executor->set_up(transport); !done) {
        return unexpected<Error>(done.error());
    }
    return executor;
}

CudaExecutor::~CudaExecutor() {
    communicators_.reset();  // aborts collectives that the device may be waiting in
    for (auto& [walk, prepared] : prepared_) {
        if (device_->is_abandoned()) {
            break;
        }
        for (const cudaGraphExec_t instance : prepared.instances) {
            if (instance != nullptr) {
                cudaGraphExecDestroy(instance);
            }
        }
    }
}

std::string CudaExecutor::why_not(const Op& op) const {
    if (op.kind() == OpKind::copy) {
        return "copies between memory tiers are not executed on a GPU yet";
    }
    if (op.kind() != OpKind::kernel) {
        return world_ ? why_not_nccl(program(), rank(), op)
                      : "communication needs a transport between the ranks";
    }
    const std::string wrong = check_kernel_operands(program(), rank(), op);
    return !wrong.empty() || is_gemm(program(), op) ? wrong : why_not_on_cuda(program().kernel(op));
}

Result<void> CudaExecutor::set_up(Transport* transport) {
    auto device = CudaDevice::open_ordinal(options_.ordinal);
    if (!device) {
        return unexpected<Error>(device.error());
    }
    device_ = std::move(*device);
    mirrors_ = std::make_unique<HostMirrors>(*device_, rank_);
    if (transport != nullptr && program().num_ranks() > 1) {
        std::vector<std::uint32_t> everybody;
        for (std::uint32_t r = 0; r < program().num_ranks(); ++r) {
            everybody.push_back(r);
        }
        world_ = std::make_unique<Communicator>(*transport, std::move(everybody), 0);
    }
    Result<void> done = rank_.check_ops([&](const Op& op) { return why_not(op); });
    done = done ? allocate() : done;
    done = done ? choose_gemm_algorithms() : done;
    return done && world_ ? join_ranks(*transport) : done;
}

Result<void> CudaExecutor::allocate() {
    auto arena =
        device_->allocate(plan().bytes(), "the tensors of a training step", kTrainingMemoryHint);
    if (!arena) {
        return unexpected<Error>(arena.error());
    }
    rank_.set_arena(*arena);
    zeroed_ = joined(rank_.zero_before_step());
    for (std::uint32_t s = 0; s < role().slots.size(); ++s) {
        for (const Op& op : program().segment_of(role().slots[s]).ops) {
            StreamMemory& memory = memory_[index(op.stream)];
            if (is_restart(program(), op)) {
                continue;
            }
            if (op.kind() != OpKind::kernel) {
                const NcclTransfer sizes =
                    nccl_transfer(program(), rank(), op, rank_.bind_transfer(s, op), nullptr);
                memory.staging_bytes = std::max(memory.staging_bytes, sizes.staging_bytes);
            } else if (!is_gemm(program(), op)) {
                memory.scratch_bytes =
                    std::max(memory.scratch_bytes, scratch_bytes_on_cuda(rank_.bind_kernel(s, op)));
            }
        }
    }
    for (StreamMemory& memory : memory_) {
        auto scratch = device_->allocate(
            memory.scratch_bytes, "scratch memory of kernels", kTrainingMemoryHint);
        auto staging =
            device_->allocate(memory.staging_bytes, "staging of collectives", kTrainingMemoryHint);
        if (!scratch || !staging) {
            return unexpected<Error>(scratch ? staging.error() : scratch.error());
        }
        memory.scratch = *scratch;
        memory.staging = *staging;
    }
    for (cudaEvent_t* event : {&start_, &end_}) {
        auto made = device_->make_event(true);
        if (!made) {
            return unexpected<Error>(made.error());
        }
        *event = *made;
    }
    for (cudaEvent_t& event : stream_ends_) {
        auto made = device_->make_event(false);
        if (!made) {
            return unexpected<Error>(made.error());
        }
        event = *made;
    }
    return {};
}

// Call it before the arena has contents, because measuring overwrites it. The operands are not
// zero: products of zeros draw less power and run faster than real ones.
Result<void> CudaExecutor::choose_gemm_algorithms() {
    constexpr int kByte = 0x3C;  // bf16 and fp32 of about 0.0115
    auto workspace =
        device_->allocate(kGemmWorkspaceBytes, "the workspace of cuBLASLt", kTrainingMemoryHint);
    if (!workspace) {
        return unexpected<Error>(workspace.error());
    }
    auto gemm = CudaGemm::create({.device = device_->info().name,
                                  .num_sms = device_->info().multiprocessors,
                                  .algorithms = options_.gemm_algorithms,
                                  .workspace = *workspace});
    if (!gemm) {
        return unexpected<Error>(gemm.error());
    }
    gemm_ = std::move(*gemm);
    const auto bytes = static_cast<std::size_t>(plan().bytes());
    std::byte* const arena = rank_.arena();
    const cudaStream_t stream = device_->stream(kComputeStream);
    Result<void> done = cuda_result(cudaMemsetAsync(arena, kByte, bytes, stream), "the arena");
    const LaunchPlan launches = plan_launches(rank_, Walk::step);
    for (const Launch& launch : launches.launches) {
        const Op& op = rank_.op(launch.slot, launch.op);
        if (!is_gemm(program(), op)) {
            continue;
        }
        for (const GemmCall& call :
             gemm_calls(rank_.bind_kernel(launch.slot, op), launch.reserved_sms)) {
            done = done ? at(launch, gemm_->prepare(call.request, call.pointers, stream)) : done;
        }
    }
    done = done ? choose_tensor_cores(launches) : done;
    done = done ? choose_fused_products(launches) : done;
    done = done ? gemm_->save() : done;
    done = done ? cuda_result(cudaMemsetAsync(arena, 0, bytes, stream), "the arena") : done;
    return done ? cuda_result(cudaStreamSynchronize(stream), device_->info().name) : done;
}

Result<void> CudaExecutor::join_ranks(Transport& transport) {
    auto nccl = open_nccl();
    if (!nccl) {
        return unexpected<Error>(nccl.error());
    }
    nccl_ = std::move(*nccl);
    auto joined = NcclCommunicators::create(
        *nccl_, nccl_communicators(program(), rank()), transport, patience(options_.deadline));
    if (!joined) {
        return unexpected<Error>(joined.error());
    }
    communicators_ = std::move(*joined);
    return {};
}

Result<void> CudaExecutor::wait_for_end() {
    cudaError_t state = cudaErrorNotReady;
    const auto ended = [&] {
        state = cudaEventQuery(end_);
        return state != cudaErrorNotReady;
    };
    Result<void> done;
    if (communicators_) {
        done = communicators_->wait(ended);
    } else if (!patience(options_.device_deadline).wait_until(ended)) {
        done = fail(
            "",
            fmt::format("{} did not end a step within {} s",
                        device_->info().name,
                        options_.device_deadline.count() / 1000),
            "nvidia-smi shows what it does; " + std::string{kCudaWithout} + " leaves kernels out");
    }
    // Memory of running work cannot be freed; the end of the process frees it.
    if (!done &&
        !patience(std::min(kMostAfterAnError, options_.device_deadline)).wait_until(ended)) {
        device_->abandon();
    }
    return done ? cuda_result(state, "a step") : done;
}

// The next run reports a failed copy.
TensorView CudaExecutor::lent(Result<TensorView> opened) {
    error_ = opened ? error_ : std::optional{opened.error()};
    return opened ? *opened : TensorView{};
}

TensorView CudaExecutor::view(TensorId tensor, std::int32_t micro_batch) {
    return lent(mirrors_->open(tensor, micro_batch, HostAccess::change));
}

TensorView CudaExecutor::overwrite(TensorId tensor, std::int32_t micro_batch) {
    return lent(mirrors_->open(tensor, micro_batch, HostAccess::overwrite));
}

ConstTensorView CudaExecutor::read(TensorId tensor, std::int32_t micro_batch) {
    return lent(mirrors_->open(tensor, micro_batch, HostAccess::read));
}

std::vector<std::string> CudaExecutor::wrong_ways() const {
    std::vector<std::string> lines;
    for (const TriedWay& tried : tried_ways_) {
        if (!tried.right()) {
            lines.push_back(trial_line(tried));
        }
    }
    return lines;
}

std::vector<std::string> CudaExecutor::notes() const {
    std::int64_t beside = kGemmWorkspaceBytes;
    for (const StreamMemory& memory : memory_) {
        beside += memory.scratch_bytes + memory.staging_bytes;
    }
    std::vector<std::string> lines{
        fmt::format("{} of tensors, {} of workspace", gib(plan().bytes()), gib(beside)),
        fmt::format(
            "{} matrix products measured, cuBLASLt {}", gemm_->measured(), gemm_->version())};
    const bool asks = std::ranges::any_of(program().collectives, [](const CollectiveCall& call) {
        return call.mover.engine == TransferEngine::copy_engine;
    });
    if (asks && communicators_ != nullptr) {
        lines.emplace_back(
            "NCCL was asked for copy engines (zero CTAs): it takes SMs for buffers that are not "
            "registered as symmetric windows, and these are not");
    }
    if (gates_.late() > 0) {
        lines.push_back(
            fmt::format("{} gates opened by themselves: some kernel times have the host's in them",
                        gates_.late()));
    }
    if (const std::string without = options_.use.without(); !without.empty()) {
        lines.push_back("without " + without);
    }
    if (!fused_shares_.empty()) {
        const auto used = std::ranges::count_if(
            fused_shares_, [](const auto& choice) { return choice.second > 0; });
        lines.push_back(fmt::format(
            "{} of {} kinds of products do a GELU or a bias gradient too: right, and faster so",
            used,
            fused_shares_.size()));
    }
    if (!tensor_cores_.empty()) {
        const auto on = [&](device::TensorCores cores) {
            return std::ranges::count(tensor_cores_, cores, [](const auto& c) { return c.second; });
        };
        const auto warpgroups =
            on(device::TensorCores::warpgroups) + on(device::TensorCores::short_warpgroups);
        lines.push_back(fmt::format(
            "{} of {} kinds of attention on tensor cores, {} of them on those of warpgroups",
            on(device::TensorCores::warps) + warpgroups,
            tensor_cores_.size(),
            warpgroups));
    }
    for (const TriedWay& tried : tried_ways_) {
        lines.push_back("  " + trial_line(tried));
    }
    const auto step = prepared_.find(Walk::step);
    if (step != prepared_.end() && !step->second.instances.empty()) {
        const GraphPlan& graphs = step->second.graphs;
        lines.push_back(fmt::format("{:.1f} % of {} kernels a step in graphs",
                                    100 * graphs.share_in_graphs(),
                                    graphs.total_kernels()));
        for (std::size_t r = 1; r < kNumEagerReasons; ++r) {
            if (graphs.kernels[r] > 0) {
                lines.push_back(fmt::format("  {} launched by themselves: {}",
                                            graphs.kernels[r],
                                            name(static_cast<EagerReason>(r))));
            }
        }
    }
    return lines;
}

}  // namespace orrery
