// SPDX-License-Identifier: Apache-2.0
// Runs of the launches of a plan by a CudaExecutor.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/base/check.h"
#include "engine/base/statistics.h"
#include "runtime/cuda/cuda_executor.h"
#include "runtime/cuda/cuda_kernels.h"
#include "runtime/cuda/cuda_result.h"
#include "runtime/cuda/graph_capture.h"
#include "runtime/gemm_request.h"

namespace orrery {
namespace {

// Kernels are timed in the second and third run, then in one of this many runs.
constexpr std::int64_t kTimedEvery = 32;

bool is_timed(std::int64_t run) {
    return run == 1 || run == 2 || (run > 2 && run % kTimedEvery == 0);
}

// Launches that the host enqueues behind a closed gate. A launch has up to ten commands (a gate's
// wait, two events, and a split product's kernels and sums). Beyond about a thousand commands a
// stream makes the host wait.
constexpr std::uint32_t kLaunchesPerGate = 50;

// CUDA's events resolve about 0.5 us (CUDA runtime API, cudaEventElapsedTime).
constexpr double kEventResolution_s = 0.5e-6;
constexpr int kEmptyPairs = 15;

// The host must watch transfers, which wait for other ranks.
EagerReason why_eager(const Op& op) {
    return op.kind() == OpKind::kernel ? EagerReason::none : EagerReason::communication;
}

}  // namespace

Result<void> CudaExecutor::at(const Launch& launch, Result<void> done) const {
    if (!done) {
        done.error().what = rank_.describe(launch.slot, rank_.op(launch.slot, launch.op)) + ": " +
                            done.error().what;
    }
    return done;
}

Result<void> CudaExecutor::run_launches(Walk walk, const LaunchPlan& plan) {
    if (error_) {
        return unexpected<Error>(*error_);
    }
    Prepared& prepared = prepared_[walk];
    // Not the first run: it loads the kernels, which may wait for the device.
    recording_ = recorder_ != nullptr && walk == Walk::step;
    timing_ = recording_ || (times_ != nullptr && walk == Walk::step && prepared.runs > 0 &&
                             (time_every_step_ || is_timed(prepared.runs)));
    timings_used_ = 0;
    running_ = &prepared;
    Result<void> done = prepare(prepared, plan);
    done = done && timing_ && !empty_pair_s_ ? time_an_empty_pair() : done;
    done = done && recording_ ? drop_anchor() : done;
    done = done ? begin(walk, plan) : done;
    if (done && (prepared.runs == 0 || timing_ || !options_.use.graphs)) {
        done = launch_all(prepared, plan);
    } else {
        for (std::size_t p = 0; done && p < prepared.graphs.pieces.size(); ++p) {
            done = run_piece(prepared, plan, p);
        }
    }
    done = done ? end(plan) : done;
    if (done) {
        gates_.forget();
    }
    done = done && timing_ && prepared.runs > 0 ? take_times() : done;
    done = done && recording_ ? record_times() : done;
    ++prepared.runs;
    mirrors_->after_run();
    if (!done) {
        if (communicators_) {
            communicators_->abort(done.error().what);
        }
        error_ = done.error();
    }
    return done;
}

Result<void> CudaExecutor::prepare(Prepared& prepared, const LaunchPlan& plan) {
    if (prepared.events.size() != plan.launches.size()) {
        use_fused_products(prepared, plan);
        prepared.events.assign(plan.launches.size(), nullptr);
        for (std::size_t i = 0; i < plan.launches.size(); ++i) {
            if (!plan.launches[i].awaited) {
                continue;
            }
            auto event = device_->make_event(false);
            if (!event) {
                return unexpected<Error>(event.error());
            }
            prepared.events[i] = *event;
        }
    }
    if (prepared.instances.empty() && prepared.runs > 0 && options_.use.graphs && !timing_) {
        prepared.graphs = plan_graphs(rank_, plan, why_eager);
        prepared.instances.assign(prepared.graphs.pieces.size(), nullptr);
    }
    return {};
}

// Copies the host's writes and clears the sums; then every stream may start.
Result<void> CudaExecutor::begin(Walk walk, const LaunchPlan& plan) {
    const cudaStream_t compute = device_->stream(kComputeStream);
    Result<void> done = mirrors_->upload(compute);
    for (std::size_t i = 0; walk != Walk::gather_parameters && done && i < zeroed_.size(); ++i) {
        done = zero(zeroed_[i], compute);
    }
    done = done ? cuda_result(cudaEventRecord(start_, compute), "the begin of a step") : done;
    for (const StreamId stream : plan.streams) {
        if (done && stream != kComputeStream) {
            done = cuda_result(cudaStreamWaitEvent(device_->stream(stream), start_, 0),
                               "the begin of a step");
        }
    }
    return done;
}

Result<void> CudaExecutor::zero(const TensorView& view, cudaStream_t stream) {
    return cuda_result(
        cudaMemsetAsync(
            view.data, 0, static_cast<std::size_t>(view.size * size_bytes(view.dtype)), stream),
        "setting a sum to zero");
}

Result<void> CudaExecutor::wait_for(const Prepared& prepared, const Launch& launch) {
    for (const std::uint32_t wait : launch.waits) {
        const Result<void> done = cuda_result(
            cudaStreamWaitEvent(device_->stream(launch.stream), prepared.events[wait], 0),
            "a wait between streams");
        if (!done) {
            return at(launch, done);
        }
    }
    return {};
}

Result<void> CudaExecutor::record(const Prepared& prepared,
                                  const LaunchPlan& plan,
                                  std::uint32_t launch) {
    const Launch& of = plan.launches[launch];
    return of.awaited ? at(of,
                           cuda_result(
                               cudaEventRecord(prepared.events[launch], device_->stream(of.stream)),
                               "an event"))
                      : Result<void>{};
}

Result<void> CudaExecutor::launch_all(const Prepared& prepared, const LaunchPlan& plan) {
    // With other ranks, a closed gate could delay work that the host waits for.
    const bool gated = timing_ && prepared.runs > 0 && !communicators_ && options_.use.gates;
    Result<void> done;
    for (std::uint32_t i = 0; done && i < plan.launches.size(); ++i) {
        if (gated && i % kLaunchesPerGate == 0) {
            done = gates_.close(device_->stream(kComputeStream));
        }
        done = done ? wait_for(prepared, plan.launches[i]) : done;
        done = done ? run_launch(plan.launches[i]) : done;
        done = done ? record(prepared, plan, i) : done;
    }
    gates_.open();
    return done;
}

Result<void> CudaExecutor::run_piece(Prepared& prepared,
                                     const LaunchPlan& plan,
                                     std::size_t number) {
    const GraphPiece& piece = prepared.graphs.pieces[number];
    const Launch& first = plan.launches[piece.launches.front()];
    Result<void> done = wait_for(prepared, first);
    if (piece.eager != EagerReason::none) {
        done = done ? run_launch(first) : done;
    } else {
        if (done && prepared.instances[number] == nullptr) {
            done = capture(prepared, plan, number);
        }
        done = done ? at(first,
                         cuda_result(cudaGraphLaunch(prepared.instances[number],
                                                     device_->stream(first.stream)),
                                     "a graph"))
                    : done;
    }
    return done ? record(prepared, plan, piece.launches.back()) : done;
}

Result<void> CudaExecutor::capture(Prepared& prepared, const LaunchPlan& plan, std::size_t number) {
    const GraphPiece& piece = prepared.graphs.pieces[number];
    const Launch& first = plan.launches[piece.launches.front()];
    const auto launch = [&] {
        Result<void> done;
        for (const std::uint32_t i : piece.launches) {
            done = done ? run_launch(plan.launches[i]) : done;
        }
        return done;
    };
    return at(first,
              capture_graph(device_->stream(first.stream), prepared.instances[number], launch));
}

Result<void> CudaExecutor::run_launch(const Launch& launch) {
    const Op& op = rank_.op(launch.slot, launch.op);
    const cudaStream_t stream = device_->stream(launch.stream);
    Result<void> done;
    if (running_->absorbed.contains({launch.slot, launch.op})) {
        return done;
    }
    for (const TensorId sum : launch.begin_at_zero) {
        done = done ? zero(rank_.operand(launch.slot, sum), stream) : done;
    }
    const bool timed = timing_ && (recording_ || op.kind() == OpKind::kernel);
    const Result<Timing*> timing = done && timed ? next_timing(launch) : nullptr;
    if (!done || !timing) {
        return at(launch, done ? Result<void>{unexpected<Error>(timing.error())} : done);
    }
    const auto mark = [&](cudaEvent_t Timing::*event) {
        return *timing == nullptr
                   ? Result<void>{}
                   : cuda_result(cudaEventRecord((*timing)->*event, stream), "timing an op");
    };
    done = mark(&Timing::begin);
    if (done) {
        done = op.kind() == OpKind::kernel ? run_kernel(launch, op) : run_transfer(launch, op);
    }
    done = done ? mark(&Timing::end) : done;
    return at(launch, done);
}

Result<CudaExecutor::Timing*> CudaExecutor::next_timing(const Launch& launch) {
    if (timings_used_ == timings_.size()) {
        auto begin = device_->make_event(true);
        auto end = device_->make_event(true);
        if (!begin || !end) {
            return unexpected<Error>(begin ? end.error() : begin.error());
        }
        timings_.push_back({.begin = *begin, .end = *end});
    }
    Timing& timing = timings_[timings_used_++];
    timing.slot = launch.slot;
    timing.op = launch.op;
    const auto fused = running_->fused.find({launch.slot, launch.op});
    timing.with = fused == running_->fused.end() ? nullptr : &fused->second;
    return &timing;
}

Result<void> CudaExecutor::run_kernel(const Launch& launch, const Op& op) {
    const BoundOp bound = rank_.bind_kernel(launch.slot, op);
    if (bound.call.kind == KernelKind::gemm) {
        const auto fused = running_ == nullptr ? nullptr : &running_->fused;
        const bool is_fused = fused != nullptr && fused->contains({launch.slot, launch.op});
        return is_fused ? run_fused(launch, fused->at({launch.slot, launch.op}))
                        : run_gemm(launch, bound);
    }
    const StreamMemory& memory = memory_[index(launch.stream)];
    device::CudaQueue queue{device_->stream(launch.stream),
                            memory.scratch,
                            memory.scratch_bytes,
                            tensor_cores_of(bound)};
    run_on_cuda(queue, bound);
    return cuda_result(static_cast<cudaError_t>(queue.error()), "a kernel");
}

Result<void> CudaExecutor::run_gemm(const Launch& launch, const BoundOp& op) {
    Result<void> done;
    for (const GemmCall& call : gemm_calls(op, launch.reserved_sms)) {
        done =
            done ? gemm_->run(call.request, call.pointers, device_->stream(launch.stream)) : done;
    }
    return done;
}

Result<void> CudaExecutor::run_transfer(const Launch& launch, const Op& op) {
    const cudaStream_t stream = device_->stream(launch.stream);
    const auto [place, fresh] = transfers_.try_emplace({launch.slot, launch.op});
    if (fresh) {
        place->second = nccl_transfer(program(),
                                      rank(),
                                      op,
                                      rank_.bind_transfer(launch.slot, op),
                                      memory_[index(launch.stream)].staging);
    }
    const NcclTransfer& plan = place->second;
    const auto copy = [&](const DeviceCopy& c) {
        const auto bytes = [&](std::int64_t elements) {
            return static_cast<std::size_t>(elements * c.element);
        };
        return cuda_result(cudaMemcpy2DAsync(c.to + c.shape.to * c.element,
                                             bytes(c.shape.to_pitch),
                                             c.from + c.shape.from * c.element,
                                             bytes(c.shape.from_pitch),
                                             bytes(c.shape.width),
                                             static_cast<std::size_t>(c.shape.rows),
                                             cudaMemcpyDeviceToDevice,
                                             stream),
                           "a copy for a collective");
    };
    Result<void> done;
    for (const DeviceCopy& c : plan.before) {
        done = done ? copy(c) : done;
    }
    done = done ? communicators_->enqueue(plan, stream) : done;
    for (const DeviceCopy& c : plan.after) {
        done = done ? copy(c) : done;
    }
    for (const DeviceSum& sum : plan.sums) {
        const StreamMemory& memory = memory_[index(launch.stream)];
        device::CudaQueue queue{stream, memory.scratch, memory.scratch_bytes};
        add_on_cuda(queue, sum.from, sum.to);
        done = done ? cuda_result(static_cast<cudaError_t>(queue.error()), "a sum") : done;
    }
    return done;
}

// Joins the streams and waits, while it watches for errors of other ranks and the deadline.
Result<void> CudaExecutor::end(const LaunchPlan& plan) {
    const cudaStream_t compute = device_->stream(kComputeStream);
    Result<void> done;
    for (const StreamId stream : plan.streams) {
        if (stream == kComputeStream || !done) {
            continue;
        }
        const cudaEvent_t event = stream_ends_[index(stream)];
        done = cuda_result(cudaEventRecord(event, device_->stream(stream)), "the end of a step");
        done =
            done ? cuda_result(cudaStreamWaitEvent(compute, event, 0), "the end of a step") : done;
    }
    done = done ? cuda_result(cudaEventRecord(end_, compute), "the end of a step") : done;
    return done ? wait_for_end() : done;
}

namespace {

Result<double> seconds_between(cudaEvent_t begin, cudaEvent_t end) {
    float milliseconds = 0;
    const Result<void> done =
        cuda_result(cudaEventElapsedTime(&milliseconds, begin, end), "the time of an op");
    return done ? Result<double>{1e-3 * static_cast<double>(milliseconds)}
                : unexpected<Error>(done.error());
}

}  // namespace

// The events around a kernel measure more than the kernel. This measures two events around nothing.
Result<void> CudaExecutor::time_an_empty_pair() {
    const cudaStream_t stream = device_->stream(kComputeStream);
    std::array<cudaEvent_t, kEmptyPairs + 1> events{};
    Result<void> done = options_.use.gates ? gates_.close(stream) : Result<void>{};
    for (cudaEvent_t& event : events) {
        auto made = device_->make_event(true);
        if (!made) {
            return unexpected<Error>(made.error());
        }
        event = *made;
        done = done ? cuda_result(cudaEventRecord(event, stream), "timing nothing") : done;
    }
    gates_.open();
    done = done ? cuda_result(cudaEventSynchronize(events.back()), "timing nothing") : done;
    std::vector<double> pairs;
    for (std::size_t i = 0; done && i < kEmptyPairs; ++i) {
        const Result<double> seconds = seconds_between(events[i], events[i + 1]);
        done = seconds ? done : unexpected<Error>(seconds.error());
        pairs.push_back(seconds.value_or(0));
    }
    if (done) {
        empty_pair_s_ = median(std::move(pairs));
    }
    return done;
}

Result<void> CudaExecutor::take_times() {
    for (std::size_t i = 0; times_ != nullptr && i < timings_used_; ++i) {
        const Timing& timing = timings_[i];
        const Op& op = rank_.op(timing.slot, timing.op);
        if (op.kind() != OpKind::kernel) {
            continue;
        }
        const Result<double> seconds = seconds_between(timing.begin, timing.end);
        if (!seconds) {
            return unexpected<Error>(seconds.error());
        }
        const double own_s = std::max(*seconds - *empty_pair_s_, kEventResolution_s);
        times_->add(op.payload.number(), own_s * (timing.with ? timing.with->share : 1.0));
        if (timing.with != nullptr) {
            const Launch& with = timing.with->partner;
            times_->add(rank_.op(with.slot, with.op).payload.number(),
                        own_s * (1.0 - timing.with->share));
        }
    }
    return {};
}

// Call it before a step, while the device is idle. The host waits for one event, and assumes its
// time to be halfway between two readings of the host's clock, a few microseconds apart.
Result<void> CudaExecutor::drop_anchor() {
    if (anchor_.event == nullptr) {
        auto event = device_->make_event(true);
        if (!event) {
            return unexpected<Error>(event.error());
        }
        anchor_.event = *event;
    }
    anchor_.before_ns = StepRecorder::now().steady_ns;
    const cudaError_t recorded = cudaEventRecord(anchor_.event, device_->stream(kComputeStream));
    const Result<void> done = cuda_result(
        recorded == cudaSuccess ? cudaEventSynchronize(anchor_.event) : recorded, "the clocks");
    anchor_.after_ns = StepRecorder::now().steady_ns;
    return done;
}

// Records the ops of a step in the host's time. They use no processor time of the process.
Result<void> CudaExecutor::record_times() {
    const std::int64_t now = StepRecorder::now().steady_ns;
    const auto on_host = [&](double seconds) {
        const std::int64_t at = anchor_.at_ns() + std::llround(1e9 * seconds);
        return std::clamp(at, anchor_.before_ns, now);
    };
    for (std::size_t i = 0; i < timings_used_; ++i) {
        const Timing& timing = timings_[i];
        const Result<double> begin = seconds_between(anchor_.event, timing.begin);
        const Result<double> took = seconds_between(timing.begin, timing.end);
        if (!begin || !took) {
            return unexpected<Error>(begin ? took.error() : begin.error());
        }
        const double own = *took * (timing.with ? timing.with->share : 1.0);
        const auto add = [&](std::uint32_t slot, std::uint32_t op, double from, double to) {
            recorder_->add(
                {.slot = slot, .op = op, .begin_ns = on_host(from), .end_ns = on_host(to)});
        };
        add(timing.slot, timing.op, *begin, *begin + own);
        if (timing.with != nullptr) {
            const Launch& with = timing.with->partner;
            add(with.slot, with.op, *begin + own, *begin + *took);
        }
    }
    return {};
}

}  // namespace orrery
