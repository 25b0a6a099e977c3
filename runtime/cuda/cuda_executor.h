// SPDX-License-Identifier: Apache-2.0
// Executes a Program on one GPU: the launches of a plan on the device's streams, with events for
// waits between streams. All tensors are in one allocation, by the MemoryPlan that also predicts
// the memory. Further allocations are the kernels' scratch memory, cuBLASLt's workspace, and
// staging for layouts that a collective cannot use in place.
//
// The first run of a walk launches every op; it makes connections and loads kernels. The second run
// captures the pieces of its GraphPlan, and later runs replay them. Runs with timed kernels, and
// all steps of a StepRecorder, launch every op separately between two events, because the ops
// inside a replayed piece cannot be observed. A recorded step is therefore longer than a replayed
// one by the cost of the launches.
#pragma once

#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernels/cuda/queue.h"
#include "kernels/gemm/gemm_cuda.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_features.h"
#include "runtime/cuda/device_trial.h"
#include "runtime/cuda/host_mirrors.h"
#include "runtime/cuda/launch_gates.h"
#include "runtime/cuda/nccl_communicators.h"
#include "runtime/executor.h"
#include "runtime/fused_products.h"
#include "runtime/gemm_request.h"
#include "runtime/graph_plan.h"

namespace orrery {

struct CudaOptions {
    int ordinal = 0;                              // index among the machine's GPUs
    std::filesystem::path gemm_algorithms;        // kernels/gemm/gemm_algorithms.h; empty: none
    std::chrono::milliseconds deadline{120'000};  // for waits for other ranks
    // For a device that works without other ranks to end a step.
    std::chrono::milliseconds device_deadline{600'000};
    CudaFeatures use;
};

class CudaExecutor final : public Executor {
public:
    // `transport` joins the Program's ranks and must outlive the executor; null for one rank.
    static Result<std::unique_ptr<CudaExecutor>> create(const Program& program,
                                                        RankId rank,
                                                        Transport* transport,
                                                        const CudaOptions& options);
    ~CudaExecutor() override;

    TensorView view(TensorId tensor, std::int32_t micro_batch = -1) override;
    TensorView overwrite(TensorId tensor, std::int32_t micro_batch = -1) override;
    ConstTensorView read(TensorId tensor, std::int32_t micro_batch = -1) override;
    Communicator* world() override { return world_.get(); }
    std::string device_name() const override { return device_->info().name; }
    bool overlaps() const override { return true; }
    std::vector<std::string> notes() const override;
    std::vector<std::string> wrong_ways() const override;

private:
    // A product that also does the work of another op (runtime/fused_products.h).
    struct FusedLaunch {
        Launch partner;
        GemmEpilogue epilogue = GemmEpilogue::gelu;
        double share = 1;  // the product's share of the time of both ops when separate
    };
    // The state of a walk between its runs.
    struct Prepared {
        std::map<std::pair<std::uint32_t, std::uint32_t>, FusedLaunch> fused;  // by slot and op
        std::set<std::pair<std::uint32_t, std::uint32_t>> absorbed;  // run with their product
        std::vector<cudaEvent_t> events;  // by launch; null if no launch waits for it
        GraphPlan graphs;
        std::vector<cudaGraphExec_t> instances;  // by piece; null if it is not a graph
        std::int64_t runs = 0;
    };
    struct Timing {
        std::uint32_t slot = 0;
        std::uint32_t op = 0;
        cudaEvent_t begin = nullptr;
        cudaEvent_t end = nullptr;
        const FusedLaunch* with = nullptr;  // the fused op whose time is included
    };
    // Relates the device's clock to the host's: the host time of an event on an idle device.
    struct Anchor {
        cudaEvent_t event = nullptr;
        std::int64_t before_ns = 0;  // the host's clock
        std::int64_t after_ns = 0;
        std::int64_t at_ns() const { return before_ns + (after_ns - before_ns) / 2; }
    };

    CudaExecutor(const Program& program, RankId rank, const CudaOptions& options)
        : Executor(program, rank), options_(options) {}
    TensorView lent(Result<TensorView> opened);
    Result<void> set_up(Transport* transport);
    Result<void> allocate();
    Result<void> join_ranks(Transport& transport);
    Result<void> choose_gemm_algorithms();
    std::string why_not(const Op& op) const;
    Result<void> choose_tensor_cores(const LaunchPlan& plan);
    Result<device::TensorCores> try_tensor_cores(const Launch& launch);
    bool may_use(device::TensorCores cores) const;
    device::TensorCores tensor_cores_of(const BoundOp& op) const;
    Result<void> choose_fused_products(const LaunchPlan& plan);
    Result<std::int64_t> try_fused(const Launch& product, const FusedLaunch& fused);
    GemmCall fused_call(const Launch& product, const FusedLaunch& fused) const;
    Result<void> run_fused(const Launch& product, const FusedLaunch& fused);
    void use_fused_products(Prepared& prepared, const LaunchPlan& plan) const;
    std::string fused_key(const Launch& product, const FusedLaunch& fused) const;
    std::string remembered_as(const std::string& key) const;

    Result<void> run_launches(Walk walk, const LaunchPlan& plan) override;
    Result<void> prepare(Prepared& prepared, const LaunchPlan& plan);
    Result<void> begin(Walk walk, const LaunchPlan& plan);
    Result<void> run_piece(Prepared& prepared, const LaunchPlan& plan, std::size_t piece);
    Result<void> capture(Prepared& prepared, const LaunchPlan& plan, std::size_t piece);
    Result<void> launch_all(const Prepared& prepared, const LaunchPlan& plan);
    Result<void> wait_for(const Prepared& prepared, const Launch& launch);
    Result<void> record(const Prepared& prepared, const LaunchPlan& plan, std::uint32_t launch);
    Result<void> run_launch(const Launch& launch);
    Result<Timing*> next_timing(const Launch& launch);
    Result<void> drop_anchor();
    Result<void> run_kernel(const Launch& launch, const Op& op);
    Result<void> run_gemm(const Launch& launch, const BoundOp& op);
    Result<void> run_transfer(const Launch& launch, const Op& op);
    Result<void> zero(const TensorView& view, cudaStream_t stream);
    Result<void> end(const LaunchPlan& plan);
    Result<void> wait_for_end();
    Result<void> time_an_empty_pair();
    Result<void> take_times();
    Result<void> record_times();
    Result<void> at(const Launch& launch, Result<void> done) const;

    CudaOptions options_;
    std::unique_ptr<CudaDevice> device_;  // destroyed last
    std::unique_ptr<HostMirrors> mirrors_;
    std::unique_ptr<CudaGemm> gemm_;
    std::unique_ptr<NcclLibrary> nccl_;
    std::unique_ptr<NcclCommunicators> communicators_;
    std::unique_ptr<Communicator> world_;
    std::vector<TensorView> zeroed_;  // cleared at the begin of a step; adjacent ones joined
    struct StreamMemory {
        std::byte* scratch = nullptr;
        std::int64_t scratch_bytes = 0;
        std::byte* staging = nullptr;
        std::int64_t staging_bytes = 0;
    };
    std::array<StreamMemory, kNumStreams> memory_{};
    std::map<Walk, Prepared> prepared_;
    const Prepared* running_ = nullptr;
    std::map<std::string, std::int64_t> fused_shares_;  // by key, in thousandths; 0: not used
    std::map<std::string, device::TensorCores> tensor_cores_;  // for attention, by key
    std::optional<device::TensorCores> tried_cores_;
    std::vector<TriedWay> tried_ways_;                                           // in order
    std::map<std::pair<std::uint32_t, std::uint32_t>, NcclTransfer> transfers_;  // by slot and op
    cudaEvent_t start_ = nullptr;
    cudaEvent_t end_ = nullptr;
    std::array<cudaEvent_t, kNumStreams> stream_ends_{};
    bool timing_ = false;     // this run times kernels
    bool recording_ = false;  // this run also times the other ops
    Anchor anchor_;
    std::vector<Timing> timings_;
    std::size_t timings_used_ = 0;
    std::optional<double> empty_pair_s_;  // time between two events with nothing in between
    LaunchGates gates_;
    std::optional<Error> error_;  // of a copy that returned no error, or of a run
};

}  // namespace orrery
