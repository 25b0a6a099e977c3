// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel_program.h"

#include <algorithm>
#include <cmath>

#include "engine/device_scalars.h"
#include "kernels/attention/attention.h"
#include "kernels/gemm/gemm.h"
#include "kernels/optimizer/optimizer.h"
#include "models/segment_builder.h"
#include "runtime/make_executor.h"

namespace orrery {
namespace {

using Values = KernelProgram::Values;

class KernelProgramBuilder {
public:
    explicit KernelProgramBuilder(const KernelCall& call) : call_(call) {
        kernel_.program = std::make_unique<Program>();
        Program& p = *kernel_.program;
        p.parties.front().mesh = Mesh{{{"pp", 1}}};
        p.kernels = {call};
        p.names = {std::string{name(call.kind)}};
        p.segments = {{.name = "alone", .ops = {Op{.stream = kComputeStream}}}};
        p.roles = {{.name = "pp 0", .slots = {Slot{.segment = SegmentId{0}}}}};
    }

    // An activation, (sequence, batch, width), unless the shape says otherwise.
    void add(Access access,
             Dtype dtype,
             std::vector<std::int64_t> shape,
             Values values = Values::any,
             bool transposed = false,
             std::int64_t ids = 0) {
        Program& p = *kernel_.program;
        std::int64_t elements = 1;
        for (const std::int64_t extent : shape) {
            elements *= extent;
        }
        const auto id = to_id<TensorId>(p.tensors.size());
        p.tensors.push_back({.name = "operand " + std::to_string(p.tensors.size()),
                             .dtype = dtype,
                             .lifetime = Lifetime::persistent,
                             .global_shape = std::move(shape),
                             .layout = Layout(1),
                             .bytes = Bytes{elements * size_bytes(dtype)}});
        p.operands.push_back({.tensor = id, .access = access, .transposed = transposed});
        kernel_.values.push_back(values);
        kernel_.ids.push_back(ids);
        if (access != Access::read) {
            kernel_.results.push_back(id);
        }
    }
    void read(std::vector<std::int64_t> shape, Values values = Values::any) {
        add(Access::read, call_.dtype, std::move(shape), values);
    }
    void write(std::vector<std::int64_t> shape) {
        add(Access::write, call_.dtype, std::move(shape));
    }
    void statistics(Access access, std::int64_t tokens, int count) {
        for (int i = 0; i < count; ++i) {
            add(access, Dtype::fp32, {tokens, 1, 1}, Values::positive);
        }
    }
    void ids(std::int64_t tokens, std::int64_t count) {
        add(Access::read, Dtype::int32, {tokens, 1, 1}, Values::ids, false, count);
    }
    void scalars() { add(Access::read, Dtype::fp32, {kNumDeviceScalars}, Values::scalars); }

    KernelProgram finish() {
        kernel_.program->segments[0].ops[0].num_operands =
            static_cast<std::uint32_t>(kernel_.program->operands.size());
        return std::move(kernel_);
    }

private:
    const KernelCall& call_;
    KernelProgram kernel_;
};

void add_gemm(KernelProgramBuilder& b, const KernelCall& call) {
    const auto [m, n, k, batch] =
        std::array{call.dims[0], call.dims[1], call.dims[2], call.dims[3]};
    const GemmEpilogue epilogue = gemm_epilogue(call);
    const bool adds = epilogue == GemmEpilogue::accumulate_fp32;
    b.add(Access::read, call.dtype, {batch, m, k}, Values::any, adds);
    b.read({batch, k, n});
    if (epilogue == GemmEpilogue::bias) {
        b.add(Access::read, gemm_output(call), {n});
    }
    b.add(adds ? Access::accumulate : Access::write, gemm_output(call), {batch, m, n});
}

void add_attention(KernelProgramBuilder& b, const KernelCall& call) {
    const AttentionShape s = attention_shape(call);
    const std::vector<std::int64_t> qkv{s.seq_q, s.batch, (s.heads + 2 * s.kv_heads) * s.head_dim};
    const std::vector<std::int64_t> context{s.seq_q, s.batch, s.heads * s.head_dim};
    const std::vector<std::int64_t> lse{s.seq_q, s.batch, s.heads};
    b.read(qkv);
    if (call.kind == KernelKind::attention_forward) {
        b.write(context);
        b.add(Access::write, Dtype::fp32, lse);
        return;
    }
    b.read(context);
    // Of a few hundred keys with scores near zero: probabilities below one, as they should be.
    b.add(Access::read, Dtype::fp32, lse, Values::positive);
    b.read(context);
    b.write(qkv);
}

void add_norm(KernelProgramBuilder& b, const KernelCall& call) {
    const bool layernorm =
        call.kind == KernelKind::layernorm_forward || call.kind == KernelKind::layernorm_backward;
    const bool forward =
        call.kind == KernelKind::layernorm_forward || call.kind == KernelKind::rmsnorm_forward;
    const bool fused = call.variant == 1;
    const std::vector<std::int64_t> x{call.dims[0], 1, call.dims[1]};
    const std::int64_t vectors = layernorm ? 2 : 1;  // weights a column, statistics a row
    const std::int64_t weight = vectors * call.dims[1];
    const std::vector<std::int64_t> statistics{call.dims[0], 1, vectors};
    b.read(x);
    if (!forward) {
        b.read(x);
        b.add(Access::read, Dtype::fp32, statistics, Values::positive);
    }
    if (fused) {
        b.read(x);
    }
    b.read({weight});
    b.write(x);
    if (forward) {
        b.add(Access::write, Dtype::fp32, statistics);
    }
    if (forward && fused) {
        b.write(x);
    }
    if (!forward) {
        b.add(Access::accumulate, Dtype::fp32, {weight});
    }
}

void add_activation(KernelProgramBuilder& b, const KernelCall& call) {
    const bool gated =
        call.kind == KernelKind::swiglu_forward || call.kind == KernelKind::swiglu_backward;
    const bool forward =
        call.kind == KernelKind::gelu_forward || call.kind == KernelKind::swiglu_forward;
    const std::vector<std::int64_t> x{call.dims[0], 1, (gated ? 2 : 1) * call.dims[1]};
    const std::vector<std::int64_t> y{call.dims[0], 1, call.dims[1]};
    if (!forward) {
        b.read(y);
    }
    b.read(x);
    b.write(forward ? y : x);
}

void add_loss(KernelProgramBuilder& b, const KernelCall& call) {
    const std::int64_t tokens = call.dims[0];
    const std::vector<std::int64_t> logits{tokens, 1, call.dims[1]};
    if (call.kind == KernelKind::cross_entropy_forward) {
        b.read(logits);
        b.ids(tokens, call.dims[1]);
        b.statistics(Access::write, tokens, 3);
        if (call.variant == 0) {
            b.write(logits);
        }
        return;
    }
    b.ids(tokens, call.dims[1]);
    b.statistics(Access::read, tokens, 3);
    if (call.variant == 0) {
        b.read(logits);
    }
    b.scalars();
    b.add(Access::accumulate, call.dtype, logits);
}

void add_embedding(KernelProgramBuilder& b, const KernelCall& call) {
    const auto [tokens, hidden, rows] = std::array{call.dims[0], call.dims[1], call.dims[2]};
    b.ids(tokens, rows);
    if (call.kind == KernelKind::embedding_forward) {
        b.read({rows, hidden});
        b.write({tokens, 1, hidden});
    } else {
        b.read({tokens, 1, hidden});
        b.add(Access::accumulate, Dtype::fp32, {rows, hidden});
    }
}

void add_step_end(KernelProgramBuilder& b, const KernelCall& call) {
    const std::int64_t n = call.dims[0];
    switch (call.kind) {
        case KernelKind::gradient_accumulate:
            b.read({n});
            b.add(Access::accumulate, static_cast<Dtype>(call.variant), {n});
            return;
        case KernelKind::gradient_norm:
            b.read({n});
            b.add(Access::write, Dtype::fp32, {1});
            return;
        case KernelKind::gradient_scale:
            b.add(Access::read, Dtype::fp32, {1}, Values::positive);
            b.scalars();
            b.add(Access::accumulate, call.dtype, {n});
            return;
        default:
            b.add(Access::read, gradient_of_optimizer(call), {n});
            b.scalars();
            b.add(Access::write, call.dtype, {1, n});
            b.add(Access::accumulate, Dtype::fp32, {optimizer_states(call) * n}, Values::positive);
    }
}

bool add_operands(KernelProgramBuilder& b, const KernelCall& call) {
    const std::vector<std::int64_t> x{call.dims[0], 1, call.dims[1]};
    switch (call.kind) {
        case KernelKind::gemm:
            return add_gemm(b, call), true;
        case KernelKind::attention_forward:
        case KernelKind::attention_backward:
            return add_attention(b, call), true;
        case KernelKind::layernorm_forward:
        case KernelKind::layernorm_backward:
        case KernelKind::rmsnorm_forward:
        case KernelKind::rmsnorm_backward:
            return add_norm(b, call), true;
        case KernelKind::rope: {
            // Of the heads that are turned a third are keys, or one if that is not whole.
            const std::int64_t turned = call.dims[1];
            const std::int64_t keys = turned % 2 == 0 ? turned / 2 : 1;
            b.add(
                Access::accumulate, call.dtype, {call.dims[0], 1, (turned + keys) * call.dims[2]});
            return true;
        }
        case KernelKind::gelu_forward:
        case KernelKind::gelu_backward:
        case KernelKind::swiglu_forward:
        case KernelKind::swiglu_backward:
            return add_activation(b, call), true;
        case KernelKind::residual_add:
            b.read(x);
            b.read(x);
            b.write(x);
            return call.variant == 0;
        case KernelKind::bias_gradient:
            b.read(x);
            b.add(Access::accumulate, Dtype::fp32, {call.dims[1]});
            return true;
        case KernelKind::embedding_forward:
        case KernelKind::embedding_backward:
            return add_embedding(b, call), true;
        case KernelKind::cross_entropy_forward:
        case KernelKind::cross_entropy_backward:
            return add_loss(b, call), true;
        case KernelKind::gradient_accumulate:
        case KernelKind::gradient_norm:
        case KernelKind::gradient_scale:
        case KernelKind::adamw:
            return add_step_end(b, call), true;
        default:
            return false;
    }
}

void fill_scalars(TensorView block) {
    const auto set = [&](DeviceScalar scalar, float value) {
        store(block, static_cast<std::int64_t>(scalar), value);
    };
    set(DeviceScalar::loss_scale, 0.01f);
    set(DeviceScalar::learning_rate, 0.01f);
    set(DeviceScalar::beta1, 0.9f);
    set(DeviceScalar::beta2, 0.95f);
    set(DeviceScalar::epsilon, 1e-8f);
    set(DeviceScalar::weight_decay, 0.1f);
    set(DeviceScalar::clip_norm, 1.0f);
    set(DeviceScalar::step, 3.0f);
}

Result<std::unique_ptr<Executor>> ready(const KernelProgram& kernel, DeviceChoice device) {
    auto executor = make_executor(device, *kernel.program, RankId{0}, nullptr);
    if (executor) {
        fill_operands(kernel, **executor);
    }
    return executor;
}

Error unknown(const KernelCall& call) {
    return {"", std::string{name(call.kind)} + " is not measured by itself", {}};
}

}  // namespace

std::optional<KernelProgram> kernel_program(const KernelCall& call) {
    KernelProgramBuilder builder{call};
    if (!add_operands(builder, call)) {
        return std::nullopt;
    }
    return builder.finish();
}

void fill_operands(const KernelProgram& kernel, Executor& executor) {
    for (std::size_t t = 0; t < kernel.values.size(); ++t) {
        const TensorView view = executor.view(to_id<TensorId>(t));
        const Values values = kernel.values[t];
        if (values == Values::scalars) {
            fill_scalars(view);
            continue;
        }
        auto state = static_cast<std::uint32_t>(2654435761u * (t + 1));
        for (std::int64_t e = 0; e < view.size; ++e) {
            state = state * 1664525u + 1013904223u;
            const std::uint32_t bits = state >> 8;  // 24
            if (values == Values::ids) {
                const auto id = static_cast<std::int32_t>(bits % kernel.ids[t]);
                std::memcpy(view.data + 4 * e, &id, 4);
            } else {
                const float unit = static_cast<float>(bits) * 0x1p-24f;
                store(view, e, values == Values::positive ? 5.0f + unit : unit - 0.5f);
            }
        }
    }
}

Result<TimeAlone> measure_kernel(const KernelCall& call, DeviceChoice device, int repeats) {
    constexpr int kWarmUp = 3;
    const auto kernel = kernel_program(call);
    if (!kernel) {
        return unexpected<Error>(unknown(call));
    }
    auto executor = ready(*kernel, device);
    if (!executor) {
        return unexpected<Error>(executor.error());
    }
    OpTimes times{*kernel->program};
    for (int i = 0; i < kWarmUp + repeats; ++i) {
        (*executor)->measure(i < kWarmUp ? nullptr : &times, true);
        if (const Result<void> done = (*executor)->run_step(); !done) {
            return unexpected<Error>(done.error());
        }
    }
    const Profile profile = times.profile("");
    if (profile.empty()) {
        return fail("", std::string{name(call.kind)} + " took no time that could be measured");
    }
    return TimeAlone{.median_s = profile[0].median.seconds(),
                     .spread = profile[0].spread,
                     .samples = profile[0].samples};
}

Result<double> compare_kernel(const KernelCall& call,
                              DeviceChoice x,
                              DeviceChoice y,
                              KernelNotes* notes) {
    const auto kernel = kernel_program(call);
    if (!kernel) {
        return unexpected<Error>(unknown(call));
    }
    std::array<std::unique_ptr<Executor>, 2> executors;
    for (std::size_t i = 0; i < executors.size(); ++i) {
        auto executor = ready(*kernel, i == 0 ? x : y);
        if (!executor) {
            return unexpected<Error>(executor.error());
        }
        executors[i] = std::move(*executor);
        if (const Result<void> done = executors[i]->run_step(); !done) {
            return unexpected<Error>(done.error());
        }
    }
    if (notes != nullptr) {
        *notes = {.notes = executors[0]->notes(), .wrong_ways = executors[0]->wrong_ways()};
    }
    double worst = 0;
    for (const TensorId id : kernel->results) {
        const ConstTensorView a = executors[0]->read(id);
        const ConstTensorView b = executors[1]->read(id);
        double difference = 0;
        double norm = 0;
        for (std::int64_t e = 0; e < b.size; ++e) {
            const auto d = static_cast<double>(load(a, e)) - static_cast<double>(load(b, e));
            difference += d * d;
            norm += static_cast<double>(load(b, e)) * static_cast<double>(load(b, e));
        }
        const double relative = std::sqrt(difference / std::max(norm, 1e-300));
        worst = std::isnan(relative) ? relative : std::max(worst, relative);
    }
    return worst;
}

}  // namespace orrery
