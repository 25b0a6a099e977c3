// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/initialise.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include "engine/base/check.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/random.h"
#include "models/plan/layout.h"
#include "runtime/operand_lists.h"
#include "runtime/state/global_indices.h"
#include "runtime/stepped_weights.h"

namespace orrery {
namespace {

enum class WeightKind : std::uint8_t { zero, norm, matrix, residual_matrix };

WeightKind weight_kind(std::string_view parameter) {
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

void set_to_zero(const TensorView& view) {
    std::memset(view.data, 0, static_cast<std::size_t>(view.size * size_bytes(view.dtype)));
}

// The values of one parameter, with their dependence on its name evaluated once.
class ParameterValues {
public:
    ParameterValues(std::string_view parameter, const InitialWeights& options, std::int64_t hidden)
        : kind_(weight_kind(parameter)),
          hidden_(hidden),
          key_{.seed = options.seed,
               .purpose = RandomPurpose::initial_weights,
               .stream = stream_of_parameter(parameter)},
          deviation_(options.standard_deviation /
                     (kind_ == WeightKind::residual_matrix
                          ? std::sqrt(2.0 * static_cast<double>(options.num_layers))
                          : 1.0)) {}

    // The values of consecutive elements of the whole parameter.
    void draw(std::int64_t first, std::span<float> values) const {
        switch (kind_) {
            case WeightKind::zero:
                std::ranges::fill(values, 0.0f);
                return;
            case WeightKind::norm:
                for (float& value : values) {
                    value = first++ < hidden_ ? 1.0f : 0.0f;  // gamma, then beta
                }
                return;
            default:
                break;
        }
        normals(key_, first, values);
        for (float& value : values) {
            value = static_cast<float>(deviation_ * static_cast<double>(value));
        }
    }

private:
    WeightKind kind_;
    std::int64_t hidden_;
    RandomKey key_;
    double deviation_;
};

// A weight that this rank stores, and the part for which it keeps a master.
struct DrawnWeight {
    ParameterValues values;
    GlobalIndices indices;
    ElementRange stored;
    ElementRange own;  // range of the stored elements
    TensorView weight;
    TensorView master;  // empty if there is none
};

// Draws elements [first, first + count) of the stored ones.
void draw_piece(const DrawnWeight& drawn, std::int64_t first, std::int64_t count) {
    std::array<float, 256> buffer{};
    for (const std::int64_t end = first + count; first < end;) {
        const std::int64_t local = drawn.stored.first + first;
        const std::int64_t run = std::min({drawn.indices.consecutive(local),
                                           end - first,
                                           static_cast<std::int64_t>(buffer.size())});
        const std::span<float> values{buffer.data(), static_cast<std::size_t>(run)};
        drawn.values.draw(drawn.indices.of(local), values);
        store_row(drawn.weight, first, values);
        const std::int64_t kept_first = std::max(first, drawn.own.first);
        const std::int64_t kept_end = std::min(first + run, drawn.own.first + drawn.master.size);
        if (kept_first < kept_end) {
            store_row(drawn.master,
                      kept_first - drawn.own.first,
                      values.subspan(static_cast<std::size_t>(kept_first - first),
                                     static_cast<std::size_t>(kept_end - kept_first)));
        }
        first += run;
    }
}

// The tensors to clear before the masters are set: both moments of every parameter, by optimizer
// op.
struct DrawnState {
    std::vector<TensorView> moments;
    std::vector<DrawnWeight> weights;
};

// Draws everything in pieces on all cores: a value depends only on its index.
void draw_all(const DrawnState& drawn) {
    constexpr std::int64_t kPiece = 1 << 16;
    struct Piece {
        const DrawnWeight* of;  // null for moments
        TensorView moments;
        std::int64_t first;
        std::int64_t count;
    };
    std::vector<Piece> pieces;
    const auto cut = [&](const DrawnWeight* of, TensorView moments, std::int64_t elements) {
        for (std::int64_t first = 0; first < elements; first += kPiece) {
            pieces.push_back({of, moments, first, std::min(kPiece, elements - first)});
        }
    };
    for (const TensorView& moments : drawn.moments) {
        cut(nullptr, moments, moments.size);
    }
    for (const DrawnWeight& weight : drawn.weights) {
        cut(&weight, {}, weight.stored.count);
    }
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t i = next++; i < pieces.size(); i = next++) {
            const auto& [of, moments, first, count] = pieces[i];
            if (of == nullptr) {
                set_to_zero(slice(moments, first, count));
            } else {
                draw_piece(*of, first, count);
            }
        }
    };
    // A model of a few pieces is drawn before a thread would have started.
    const std::size_t useful = std::min<std::size_t>(
        std::max(1U, std::thread::hardware_concurrency()), pieces.size() / 64);
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < useful; ++t) {
        others.emplace_back(work);
    }
    work();
}

// The width of the residual stream, which every norm has: that of the first product's input.
std::int64_t hidden_size(const Program& program) {
    for (const Tensor& tensor : program.tensors) {
        if (tensor.parameter.ends_with("linear_qkv.weight")) {
            return tensor.global_shape[0];
        }
    }
    return 0;
}

struct OptimizerOp {
    const Segment* segment;
    const Op* op;
};

// The rank's optimizer ops, whose operands pair weights with their state.
std::vector<OptimizerOp> optimizers_of(const Executor& executor) {
    const Program& program = executor.program();
    std::vector<OptimizerOp> found;
    for (const Slot& slot : executor.role().slots) {
        for (const Op& op : program.segment_of(slot).ops) {
            if (op.kind() == OpKind::kernel && (program.kernel(op).kind == KernelKind::adamw ||
                                                program.kernel(op).kind == KernelKind::lamb)) {
                found.push_back({&program.segment_of(slot), &op});
            }
        }
    }
    return found;
}

// Adds the weights of one optimizer op. False if the device could not provide a weight; the next
// run then reports why.
bool add_weights_of(const OptimizerOp& optimizer,
                    Executor& executor,
                    const InitialWeights& options,
                    DrawnState& drawn) {
    const Program& program = executor.program();
    const std::int64_t hidden = hidden_size(program);
    const KernelCall& call = program.kernel(*optimizer.op);
    const std::vector<TensorId> weights =
        stepped_weights(program, *optimizer.segment, *optimizer.op);
    const std::vector<TensorId> states = operands_of(program, *optimizer.op).accumulates;
    TensorView masters;
    if (!states.empty() && has_master(call)) {
        const TensorView all =
            executor.overwrite(stepped_state(program, *optimizer.segment, *optimizer.op));
        const std::int64_t moments = std::min(all.size, 2 * call.dims[0]);
        drawn.moments.push_back(slice(all, 0, moments));
        masters = slice(all, moments, all.size - moments);
    }
    std::int64_t first = 0;  // index of the next master
    for (const TensorId id : weights) {
        const Tensor& tensor = program.tensors[index(id)];
        const ElementRange own = executor.shards().own(id);
        const ElementRange stored = executor.shards().stored(id);
        const std::int64_t kept = std::clamp<std::int64_t>(stored.count - own.first, 0, own.count);
        const TensorView weight = executor.overwrite(id);
        if (weight.size < stored.count) {
            return false;
        }
        // With an uneven division the weight ends with padding.
        set_to_zero(slice(weight, stored.count, weight.size - stored.count));
        drawn.weights.push_back(
            {.values = ParameterValues{tensor.parameter, options, hidden},
             .indices = GlobalIndices{program, executor.rank(), tensor},
             .stored = stored,
             .own = own,
             .weight = weight,
             .master = masters.empty() ? TensorView{} : slice(masters, first, kept)});
        if (!masters.empty()) {
            set_to_zero(slice(masters, first + kept, own.count - kept));
        }
        first += own.count;
    }
    if (!masters.empty()) {
        set_to_zero(slice(masters, first, masters.size - first));
    }
    return true;
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
    const std::vector<OptimizerOp> optimizers = optimizers_of(executor);
    ORRERY_CHECK(!optimizers.empty());
    DrawnState drawn;
    const bool all = std::ranges::all_of(optimizers, [&](const OptimizerOp& optimizer) {
        return add_weights_of(optimizer, executor, options, drawn);
    });
    if (all) {
        draw_all(drawn);
    }
}

}  // namespace orrery
