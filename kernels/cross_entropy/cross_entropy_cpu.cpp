// SPDX-License-Identifier: Apache-2.0
#include "kernels/cross_entropy/cross_entropy_cpu.h"

#include <cmath>
#include <vector>

#include "kernels/vector_math.h"

namespace orrery::cpu {
namespace {

// The target's column on this rank, or -1.
std::int64_t local_target(const CrossEntropyShape& shape, std::int32_t target) {
    const std::int64_t local = target - shape.first_column;
    return target != kIgnoredTarget && local >= 0 && local < shape.vocab ? local : -1;
}

// Source of a row's maximum: `given` reads statistics.maximum, `own` computes and stores it.
enum class Maximum : std::uint8_t { given, own };

void row_statistics(const CrossEntropyShape& shape,
                    Maximum which,
                    ConstTensorView logits,
                    std::span<const std::int32_t> targets,
                    const LossStatistics& statistics,
                    TensorView widened = {}) {
    std::vector<float> row(static_cast<std::size_t>(shape.vocab));
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
        load_row(logits, token * shape.vocab, row);
        if (!widened.empty()) {
            store_row(widened, token * shape.vocab, row);
        }
        if (which == Maximum::own) {
            store(statistics.maximum, token, maximum(row));
        }
        const std::int64_t target = local_target(shape, targets[static_cast<std::size_t>(token)]);
        store(statistics.target_logit,
              token,
              target >= 0 ? row[static_cast<std::size_t>(target)] : 0.0f);
        store(statistics.sum_exp, token, exponentials(row, load(statistics.maximum, token)));
    }
}

}  // namespace

LossSum cross_entropy_forward(const CrossEntropyShape& shape,
                              ConstTensorView logits,
                              ConstTensorView targets,
                              const LossStatistics& statistics,
                              TensorView loss) {
    cross_entropy_local(shape, logits, targets, statistics);
    return cross_entropy_finish(targets, statistics, loss);
}

void cross_entropy_maximum(const CrossEntropyShape& shape,
                           ConstTensorView logits,
                           TensorView row_maximum) {
    std::vector<float> row(static_cast<std::size_t>(shape.vocab));
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
        load_row(logits, token * shape.vocab, row);
        store(row_maximum, token, maximum(row));
    }
}

void cross_entropy_sums(const CrossEntropyShape& shape,
                        ConstTensorView logits,
                        ConstTensorView targets,
                        const LossStatistics& statistics) {
    row_statistics(shape, Maximum::given, logits, ids(targets), statistics);
}

void cross_entropy_local(const CrossEntropyShape& shape,
                         ConstTensorView logits,
                         ConstTensorView targets,
                         const LossStatistics& statistics,
                         TensorView widened) {
    row_statistics(shape, Maximum::own, logits, ids(targets), statistics, widened);
}

void cross_entropy_rescale(ConstTensorView local_maximum, const LossStatistics& statistics) {
    for (std::int64_t token = 0; token < local_maximum.size; ++token) {
        const float factor =
            exponential(load(local_maximum, token) - load(statistics.maximum, token));
        store(statistics.sum_exp, token, load(statistics.sum_exp, token) * factor);
    }
}

LossSum cross_entropy_finish(ConstTensorView targets,
                             const LossStatistics& statistics,
                             TensorView loss) {
    const std::span<const std::int32_t> token_targets = ids(targets);
    LossSum total;
    for (std::int64_t token = 0; token < loss.size; ++token) {
        const bool ignored = token_targets[static_cast<std::size_t>(token)] == kIgnoredTarget;
        const float value =
            ignored ? 0.0f
                    : std::log(load(statistics.sum_exp, token)) +
                          (load(statistics.maximum, token) - load(statistics.target_logit, token));
        store(loss, token, value);
        total.sum += static_cast<double>(value);
        total.tokens += ignored ? 0 : 1;
    }
    return total;
}

void cross_entropy_backward(const CrossEntropyShape& shape,
                            ConstTensorView targets,
                            const LossStatistics& statistics,
                            float scale,
                            TensorView logits,
                            ConstTensorView widened) {
    const std::span<const std::int32_t> token_targets = ids(targets);
    std::vector<float> row(static_cast<std::size_t>(shape.vocab));
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
        const std::int32_t target = token_targets[static_cast<std::size_t>(token)];
        load_row(widened.empty() ? logits : widened, token * shape.vocab, row);
        exponentials(row, load(statistics.maximum, token));
        const float factor =
            target == kIgnoredTarget ? 0.0f : scale / load(statistics.sum_exp, token);
        for (float& value : row) {
            value *= factor;
        }
        if (const std::int64_t local = local_target(shape, target); local >= 0) {
            row[static_cast<std::size_t>(local)] -= scale;
        }
        store_row(logits, token * shape.vocab, row);
    }
}

}  // namespace orrery::cpu
