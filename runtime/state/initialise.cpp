// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/initialise.h"

#include <cmath>

#include "engine/check.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/random.h"
#include "models/layout.h"
#include "runtime/state/global_indices.h"

namespace orrery {
namespace {

enum class WeightKind : std::uint8_t { zero, norm, matrix, residual_matrix };

WeightKind distribution_of(std::string_view parameter) {
    if (parameter.ends_with("layernorm")) {
        return WeightKind::norm;
    }
    if (parameter.ends_with(".bias")) {
        return WeightKind::zero;
    }
    const bool residual =
        parameter.ends_with("linear_proj.weight") || parameter.ends_with("linear_fc2.weight");
    return residual ? WeightKind::residual_matrix : WeightKind::matrix;
}

class ParameterWriter {
public:
    ParameterWriter(const InitialWeights& options, std::int64_t hidden_of_norm)
        : options_(options), hidden_(hidden_of_norm) {}

    float value(const Tensor& tensor, std::int64_t index) const {
        switch (distribution_of(tensor.parameter)) {
            case WeightKind::zero:
                return 0.0f;
            case WeightKind::norm:
                return index < hidden_ ? 1.0f : 0.0f;  // gamma, then beta
            default:
                break;
        }
        const bool residual = distribution_of(tensor.parameter) == WeightKind::residual_matrix;
        const double shrink =
            residual ? std::sqrt(2.0 * static_cast<double>(options_.num_layers)) : 1.0;
        const RandomKey key{.seed = options_.seed,
                            .purpose = RandomPurpose::initial_weights,
                            .stream = stream_of_parameter(tensor.parameter)};
        return static_cast<float>(options_.standard_deviation / shrink *
                                  static_cast<double>(normal(key, index)));
    }

private:
    const InitialWeights& options_;
    std::int64_t hidden_;
};

// The residual stream's width, which every norm has: that of the first product's input.
std::int64_t hidden_size(const Program& program) {
    for (const Tensor& tensor : program.tensors) {
        if (tensor.parameter.ends_with("linear_qkv.weight")) {
            return tensor.global_shape[0];
        }
    }
    return 0;
}

// The optimizer op of the rank, whose operands pair weights with their state.
const Op* find_optimizer(const Executor& executor) {
    const Program& program = executor.program();
    for (const Slot& slot : executor.role().slots) {
        for (const Op& op : program.segment_of(slot).ops) {
            if (op.kind == OpKind::kernel &&
                (program.kernels[op.payload].kind == KernelKind::adamw ||
                 program.kernels[op.payload].kind == KernelKind::lamb)) {
                return &op;
            }
        }
    }
    return nullptr;
}

}  // namespace

std::uint32_t stream_of_parameter(std::string_view name) {
    std::uint32_t hash = 2166136261u;  // FNV-1a
    for (const char c : name) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    }
    return hash;
}

void initialise_weights(Executor& executor, const InitialWeights& options) {
    const Program& program = executor.program();
    const Op* optimizer = find_optimizer(executor);
    ORRERY_CHECK(optimizer != nullptr);
    const ParameterWriter writer{options, hidden_size(program)};
    const KernelCall& call = program.kernels[optimizer->payload];
    std::vector<TensorId> weights;
    TensorView state;
    for (std::uint32_t i = 0; i < optimizer->num_operands; ++i) {
        const Operand& operand = program.operands[optimizer->first_operand + i];
        if (operand.access == Access::write) {
            weights.push_back(operand.tensor);
        } else if (operand.access == Access::accumulate) {
            state = executor.view(operand.tensor);
        }
    }
    std::int64_t master = 2 * call.dims[0];  // after both moments
    for (const TensorId id : weights) {
        const Tensor& tensor = program.tensors[index(id)];
        const TensorView weight = executor.view(id);
        const ElementRange own = executor.shards().own(id);
        const GlobalIndices indices{program, executor.rank(), tensor};
        const ElementRange stored = executor.shards().stored(id);
        for (std::int64_t i = 0; i < stored.count; ++i) {
            const float value = writer.value(tensor, indices.of(stored.first + i));
            store(weight, i, value);
            if (has_master(call) && i >= own.first && i < own.first + own.count) {
                store(state, master + i - own.first, value);
            }
        }
        master += own.count;
    }
}

}  // namespace orrery
