// SPDX-License-Identifier: Apache-2.0
// What the executor asks libraries for, on the simulated device: kernels and products of the CPU,
// and collectives between the threads that are ranks.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <map>
#include <mutex>

#include "kernels/activation/activation_cpu.h"
#include "kernels/gemm/gemm_cpu.h"
#include "kernels/gemm/gemm_cuda.h"
#include "kernels/residual/residual_cpu.h"
#include "runtime/cpu/cpu_kernels.h"
#include "runtime/cuda/cuda_kernels.h"
#include "runtime/cuda/cuda_module.h"
#include "runtime/cuda/nccl_library.h"
#include "tests/kernels/gemm/gemm_of_request.h"
#include "tests/runtime/cuda/nccl_in_one_process.h"
#include "tests/runtime/cuda/simulated_device.h"

// The module's functions, linked into the test: runtime/cuda/module_entry.cpp.
extern "C" {
void orrery_cuda_devices(orrery::Result<std::vector<orrery::CudaDeviceInfo>>& devices);
void orrery_cuda_versions(std::string& versions);
void orrery_cuda_make_executor(const orrery::Program& program,
                               orrery::RankId rank,
                               orrery::Transport* transport,
                               orrery::Result<std::unique_ptr<orrery::Executor>>& executor);
void orrery_cuda_make_decode_step(const orrery::ServedModel& served,
                                  const orrery::CacheShape& cache,
                                  const orrery::StepLimits& limits,
                                  orrery::Result<std::unique_ptr<orrery::DecodeStep>>& step);
}

namespace orrery {

const Result<CudaModule>& cuda_module() {
    static const Result<CudaModule> module =
        CudaModule{.devices = orrery_cuda_devices,
                   .versions = orrery_cuda_versions,
                   .make_executor = orrery_cuda_make_executor,
                   .make_decode_step = orrery_cuda_make_decode_step};
    return module;
}

// Kernels: the queue's stream is known to its own launch() only.
struct HostKernel {
    simulated::Command command;
};
template <>
void device::CudaQueue::launch(const HostKernel& kernel, const Geometry&) {
    simulated::enqueue(stream_, kernel.command);
}

std::string why_not_on_cuda(const KernelCall& call) {
    return why_not_on_cpu(call);
}
void run_on_cuda(device::CudaQueue& queue, const BoundOp& op) {
    const bool attention = op.call.kind == KernelKind::attention_forward ||
                           op.call.kind == KernelKind::attention_backward;
    const bool broken = attention && simulated::broken_attention(queue.tensor_cores());
    if (attention) {
        simulated::count_attention(queue.tensor_cores());
    }
    const HostKernel kernel{[op, broken] {
        run_on_cpu(op);
        if (broken) {
            const TensorView& result = op.output().view;
            store(result, result.size / 2, 1e3f);
        }
        return true;
    }};
    queue.launch(kernel, {});
}
void add_on_cuda(device::CudaQueue& queue, ConstTensorView from, TensorView sum) {
    const HostKernel kernel{[from, sum] {
        for (std::int64_t i = 0; i < sum.size; ++i) {
            store(sum, i, load(sum, i) + load(from, i));
        }
        return true;
    }};
    queue.launch(kernel, {});
}
std::int64_t scratch_bytes_on_cuda(const BoundOp& op) {
    return op.call.kind == KernelKind::bias_gradient ? 4 * op.call.dims[1] : 64;
}

namespace {

class HostGemm final : public CudaGemm {
public:
    Result<void> prepare(const GemmRequest&, const GemmPointers&, CUstream_st*) override {
        return {};
    }
    Result<void> run(const GemmRequest& r, const GemmPointers& p, CUstream_st* stream) override {
        for (const void* operand : {p.a, p.b, static_cast<const void*>(p.c)}) {
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(operand) %
                          static_cast<std::uintptr_t>(r.alignment),
                      0u);
        }
        simulated::enqueue(stream, [r, p] {
            multiply(r, p);
            return true;
        });
        if (is_fused(r.epilogue)) {
            simulated::count_fused_product(r.epilogue);
        }
        return {};
    }
    std::optional<std::int64_t> remembered(const std::string& key) const override {
        if (simulated::fuses_always()) {
            return 700;
        }
        const auto found = simulated::choices().find(key);
        return found == simulated::choices().end() ? std::nullopt : std::optional{found->second};
    }
    void remember(const std::string& key, std::int64_t value) override {
        if (simulated::remembers_choices()) {
            simulated::choices()[key] = value;
        }
    }
    Result<void> save() override { return {}; }
    std::string version() const override { return "simulated"; }
    std::size_t measured() const override { return 0; }

private:
    static bool is_fused(GemmEpilogue epilogue) {
        return epilogue == GemmEpilogue::gelu || epilogue == GemmEpilogue::dgelu ||
               epilogue == GemmEpilogue::bias_gradient;
    }
    static ConstTensorView view(const void* data, Dtype dtype, std::int64_t size) {
        return {static_cast<const std::byte*>(data), dtype, size};
    }
    // The product, then the GELU of what the product would have left.
    static void multiply_fused(const GemmRequest& r, const GemmPointers& p) {
        const bool forward = r.epilogue == GemmEpilogue::gelu;
        const cpu::ActivationShape shape{.tokens = r.m, .ffn = r.n};
        const TensorView c{static_cast<std::byte*>(p.c), r.out, r.m * r.n};
        const TensorView aux{static_cast<std::byte*>(p.aux), r.out, c.size};
        std::vector<std::byte> product(static_cast<std::size_t>(c.size * size_bytes(r.out)));
        GemmRequest plain = r;
        plain.epilogue = forward ? GemmEpilogue::bias : GemmEpilogue::none;
        GemmPointers into = p;
        into.c = forward ? p.aux : product.data();
        multiply(plain, into);
        const auto curve =
            simulated::broken_epilogues() ? cpu::Ungated::squared_relu : cpu::Ungated::gelu;
        if (forward) {
            cpu::gelu_forward(shape, curve, aux, {}, c);
        } else {
            const TensorView dy{product.data(), r.out, c.size};
            cpu::gelu_backward(shape, curve, dy, aux, {}, c);
        }
    }
    // The sums of B's columns, and the product.
    static void multiply_and_sum(const GemmRequest& r, const GemmPointers& p) {
        auto* out = static_cast<std::byte*>(const_cast<void*>(p.bias));
        const TensorView sums{out, r.out, r.n};
        for (std::int64_t i = 0; i < r.n; ++i) {
            store(sums, i, simulated::broken_epilogues() ? 1.0f : 0.0f);
        }
        cpu::bias_gradient(r.k, r.n, view(p.b, r.in, r.k * r.n), sums);
        GemmRequest plain = r;
        plain.epilogue = GemmEpilogue::none;
        multiply(plain, p);
    }
    static void multiply(const GemmRequest& r, const GemmPointers& p) {
        if (is_fused(r.epilogue)) {
            r.epilogue == GemmEpilogue::bias_gradient ? multiply_and_sum(r, p)
                                                      : multiply_fused(r, p);
            return;
        }
        const auto size = [&](std::int64_t rows, std::int64_t columns, const GemmSteps& steps) {
            const std::int64_t row = steps.row > 0 ? steps.row : columns;
            return (r.batch - 1) * steps.batch + (rows - 1) * row + columns;
        };
        const ConstTensorView a =
            view(p.a, r.in, r.transpose_a ? size(r.k, r.m, r.steps_a) : size(r.m, r.k, r.steps_a));
        const ConstTensorView b =
            view(p.b, r.in, r.transpose_b ? size(r.n, r.k, r.steps_b) : size(r.k, r.n, r.steps_b));
        const TensorView c{static_cast<std::byte*>(p.c), r.out, size(r.m, r.n, r.steps_c)};
        const cpu::GemmEpilogueArguments epilogue{.accumulate = r.accumulate,
                                                  .bias = r.epilogue == GemmEpilogue::bias
                                                              ? view(p.bias, r.out, r.n)
                                                              : ConstTensorView{}};
        if (r.transpose_c) {
            EXPECT_EQ(r.batch, 1);
            cpu::gemm({.m = r.n,
                       .n = r.m,
                       .k = r.k,
                       .transpose_a = !r.transpose_b,
                       .transpose_b = !r.transpose_a},
                      b,
                      a,
                      c,
                      epilogue);
            return;
        }
        cpu::gemm(shape_of(r), a, b, c, epilogue);
    }
};

// Where the members of a communicator meet. Collectives run when the last member has come to
// them; messages wait in their receiver's box.
struct Meeting {
    struct Group {
        std::map<std::uint32_t, NcclTransfer> arrived;  // by position
        bool done = false;
    };
    std::map<std::int64_t, Group> groups;  // the k-th group of each member
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<std::vector<std::byte>>> boxes;
};

std::mutex meetings_mutex;
std::map<NcclUniqueId, Meeting> meetings;

class ThreadNccl final : public NcclLibrary {
public:
    std::string version() const override { return "simulated"; }
    std::string error_text(int, Communicator) const override { return "simulated"; }
    int unique_id(NcclUniqueId& id) override {
        static std::atomic<int> next{1};
        const int number = next++;
        std::memcpy(id.data(), &number, sizeof number);
        return kNcclSuccess;
    }
    int init(Communicator& communicator, const NcclUniqueId& id, const NcclMembers& of) override {
        own_.push_back(std::make_unique<Own>(Own{.of = of, .id = id}));
        communicator = own_.back().get();
        return kNcclSuccess;
    }
    int async_error(Communicator, int& state) override {
        state = kNcclSuccess;
        return kNcclSuccess;
    }
    int finalize(Communicator) override { return kNcclSuccess; }
    int destroy(Communicator) override { return kNcclSuccess; }
    int abort(Communicator) override { return kNcclSuccess; }
    int group_start() override {
        group_.clear();
        return kNcclSuccess;
    }
    int call(const NcclCall& call, Communicator communicator, Stream stream) override {
        stream_ = static_cast<CUstream_st*>(stream);
        group_[static_cast<Own*>(communicator)].calls.push_back(call);
        return kNcclSuccess;
    }
    int group_end() override {
        for (auto& [own, plan] : group_) {
            const NcclCallKind first = plan.calls.front().function;
            const bool messages = first == NcclCallKind::send || first == NcclCallKind::recv;
            if (messages) {
                enqueue_messages(*own, plan);
            } else {
                enqueue_collective(*own, plan);
            }
        }
        return kNcclSuccess;
    }

private:
    struct Own {
        NcclMembers of;
        NcclUniqueId id{};
        std::int64_t groups = 0;
    };

    void enqueue_collective(Own& own, const NcclTransfer& plan) {
        const std::int64_t number = own.groups++;
        simulated::enqueue(stream_, [&own, plan, number] {
            const std::lock_guard lock{meetings_mutex};
            Meeting::Group& group = meetings[own.id].groups[number];
            group.arrived.try_emplace(own.of.position, plan);
            if (!group.done && group.arrived.size() == own.of.ranks.size()) {
                std::vector<NcclTransfer> plans;
                for (const auto& [position, theirs] : group.arrived) {
                    plans.push_back(theirs);
                }
                NcclInOneProcess::run(plans);
                group.done = true;
            }
            return group.done;
        });
    }

    // All sends first: the parts of a group progress together.
    void enqueue_messages(Own& own, const NcclTransfer& plan) {
        for (const NcclCallKind function : {NcclCallKind::send, NcclCallKind::recv}) {
            for (const NcclCall& call : plan.calls) {
                if (call.function == function) {
                    simulated::enqueue(stream_, [&own, call] { return pass(own, call); });
                }
            }
        }
    }
    static bool pass(const Own& own, const NcclCall& call) {
        const std::lock_guard lock{meetings_mutex};
        const auto bytes = static_cast<std::size_t>(call.count * size_bytes(call.dtype));
        auto& boxes = meetings[own.id].boxes;
        if (call.function == NcclCallKind::send) {
            boxes[{own.of.position, call.peer}].emplace_back(call.in, call.in + bytes);
            return true;
        }
        auto& box = boxes[{call.peer, own.of.position}];
        if (box.empty()) {
            return false;
        }
        EXPECT_EQ(box.front().size(), bytes);
        std::memcpy(call.out, box.front().data(), bytes);
        box.pop_front();
        return true;
    }

    std::vector<std::unique_ptr<Own>> own_;
    std::map<Own*, NcclTransfer> group_;
    CUstream_st* stream_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<CudaGemm>> CudaGemm::create(const CudaGemmOptions&) {
    return std::make_unique<HostGemm>();
}

Result<std::unique_ptr<NcclLibrary>> open_nccl() {
    return std::make_unique<ThreadNccl>();
}

}  // namespace orrery
