// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel_program.h"

#include <algorithm>
#include <cmath>

#include "engine/program/device_scalars.h"
#include "kernels/catalogue.h"
#include "models/segments/segment_builder.h"
#include "runtime/make_executor.h"

namespace orrery {
namespace {

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

double value_at(ConstTensorView view, std::int64_t e) {
    if (size_bytes(view.dtype) == 1) {
        return static_cast<double>(std::to_integer<int>(view.data[e]));
    }
    return view.dtype == Dtype::int32 ? ids(view)[static_cast<std::size_t>(e)]
                                      : static_cast<double>(load(view, e));
}

Error unknown(const KernelCall& call) {
    return {"", std::string{name(call.kind)} + " does not run by itself", {}};
}

}  // namespace

std::optional<KernelProgram> kernel_program(const KernelCall& call) {
    const KernelDescriptor& descriptor = descriptor_of(call.kind);
    OperandForms forms{call};
    if (descriptor.operands == nullptr || !descriptor.operands(forms, call)) {
        return std::nullopt;
    }
    KernelProgram kernel{.program = std::make_unique<Program>()};
    Program& p = *kernel.program;
    p.parties.front().mesh = Mesh{{{"pp", 1}}};
    p.kernels = {call};
    p.names = {std::string{name(call.kind)}};
    p.segments = {{.name = "alone",
                   .ops = {Op{.stream = kComputeStream,
                              .num_operands = static_cast<std::uint32_t>(forms.all().size())}}}};
    p.roles = {{.name = "pp 0", .slots = {Slot{.segment = SegmentId{0}}}}};
    for (const OperandForm& form : forms.all()) {
        const auto id = to_id<TensorId>(p.tensors.size());
        p.tensors.push_back({.name = "operand " + std::to_string(p.tensors.size()),
                             .dtype = form.dtype,
                             .lifetime = Lifetime::persistent,
                             .global_shape = form.shape,
                             .layout = Layout(1),
                             .bytes = Bytes{form.elements() * size_bytes(form.dtype)}});
        p.operands.push_back({.tensor = id, .access = form.access, .transposed = form.transposed});
        kernel.values.push_back(form.values);
        kernel.ids.push_back(form.ids);
        if (form.access != Access::read) {
            kernel.results.push_back(id);
        }
    }
    return kernel;
}

void fill_operands(const KernelProgram& kernel, Executor& executor) {
    for (std::size_t t = 0; t < kernel.values.size(); ++t) {
        const TensorView view = executor.view(to_id<TensorId>(t));
        const OperandValues values = kernel.values[t];
        if (values == OperandValues::scalars) {
            fill_scalars(view);
            continue;
        }
        auto state = static_cast<std::uint32_t>(2654435761u * (t + 1));
        for (std::int64_t e = 0; e < view.size; ++e) {
            state = state * 1664525u + 1013904223u;
            const std::uint32_t bits = state >> 8;  // 24
            if (values == OperandValues::ids || values == OperandValues::equal) {
                const auto id = static_cast<std::int32_t>(
                    values == OperandValues::ids ? bits % kernel.ids[t] : kernel.ids[t]);
                std::memcpy(view.data + 4 * e, &id, 4);
            } else if (size_bytes(view.dtype) == 1) {
                // Any four of these bytes form a scale between 0.01 and 0.8.
                view.data[e] = static_cast<std::byte>(0x3Cu | (bits & 3u));
            } else {
                const float unit = static_cast<float>(bits) * 0x1p-24f;
                store(view, e, values == OperandValues::positive ? 5.0f + unit : unit - 0.5f);
            }
        }
    }
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
            const double d = value_at(a, e) - value_at(b, e);
            difference += d * d;
            norm += value_at(b, e) * value_at(b, e);
        }
        const double relative = std::sqrt(difference / std::max(norm, 1e-300));
        worst = std::isnan(relative) ? relative : std::max(worst, relative);
    }
    return worst;
}

}  // namespace orrery
