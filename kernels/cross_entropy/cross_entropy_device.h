// SPDX-License-Identifier: Apache-2.0
// Kernels of kernels/cross_entropy/cross_entropy_cuda.h: a block processes a row of logits. Maximum
// and sum come from one pass: each thread rescales its sum when it meets a larger logit.
#pragma once

#include "kernels/cross_entropy/cross_entropy_cuda.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/row_pass.h"

namespace orrery::device {

inline constexpr int kLossThreads = 256;
inline constexpr float kLossLog2e = 1.4426950408889634f;
inline constexpr float kNoLogit = -__builtin_huge_valf();

enum class RowMaximum : std::uint8_t { own, given, only };

struct LossPointers {
    float* maximum;
    float* sum_exp;
    float* target_logit;
};

// The target's column on this rank, or -1.
ORRERY_HOST_DEVICE std::int64_t target_column(const cpu::CrossEntropyShape& shape,
                                              std::int32_t target) {
    const std::int64_t local = target - shape.first_column;
    return target != cpu::kIgnoredTarget && local >= 0 && local < shape.vocab ? local : -1;
}

// Calls work.operator()<kWidth>(column) for each of this thread's accesses to a row.
template <class Block, class Work>
ORRERY_DEVICE void for_row(Block& block, std::int64_t columns, bool vector, const Work& work) {
    if (vector) {
        for (std::int64_t c = block.thread() * kPassWidth; c < columns;
             c += block.threads() * kPassWidth) {
            work.template operator()<kPassWidth>(c);
        }
    } else {
        for (std::int64_t c = block.thread(); c < columns; c += block.threads()) {
            work.template operator()<1>(c);
        }
    }
}

template <class T>
struct LossStatisticsKernel {
    static constexpr int kThreadsMax = kLossThreads;
    cpu::CrossEntropyShape shape;
    RowMaximum which;
    bool vector;
    const T* logits;
    const std::int32_t* targets;  // null with RowMaximum::only
    LossPointers statistics;
    float* widened;  // may be null

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const std::int64_t token = block.x();
        const T* row = logits + token * shape.vocab;
        float largest = which == RowMaximum::given ? statistics.maximum[token] : kNoLogit;
        float sum = 0.0f;
        for_row(block, shape.vocab, vector, [&]<int kWidth>(std::int64_t column) {
            float values[kWidth];
            load(row + column, values);
            if (widened != nullptr) {
                store(widened + token * shape.vocab + column, values);
            }
            float top = largest;
            ORRERY_UNROLL
            for (int i = 0; i < kWidth && which != RowMaximum::given; ++i) {
                top = values[i] > top ? values[i] : top;
            }
            if (top > largest) {
                sum *= block.exp2_approx((largest - top) * kLossLog2e);
                largest = top;
            }
            ORRERY_UNROLL
            for (int i = 0; i < kWidth && which != RowMaximum::only; ++i) {
                sum += block.exp2_approx((values[i] - largest) * kLossLog2e);
            }
        });
        float maximum[1] = {largest};
        if (which != RowMaximum::given) {
            reduce_block(block, block.shared(), maximum, Larger{});
        }
        // A thread without columns has -infinity and nothing to rescale.
        float sums[1] = {sum > 0.0f ? sum * block.exp2_approx((largest - maximum[0]) * kLossLog2e)
                                    : 0.0f};
        reduce_block(block, block.shared(), sums);
        if (block.thread() != 0) {
            return;
        }
        if (which != RowMaximum::given) {
            statistics.maximum[token] = maximum[0];
        }
        if (which != RowMaximum::only) {
            const std::int64_t target = target_column(shape, targets[token]);
            statistics.sum_exp[token] = sums[0];
            statistics.target_logit[token] = target >= 0 ? widen(row[target]) : 0.0f;
        }
    }
};

struct LossRescaleKernel {
    static constexpr int kThreadsMax = kFlatThreads;
    std::int64_t tokens;
    const float* local_maximum;
    LossPointers statistics;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        for_flat(block, tokens, false, [&]<int>(std::int64_t i) {
            statistics.sum_exp[i] *=
                block.exp2_approx((local_maximum[i] - statistics.maximum[i]) * kLossLog2e);
        });
    }
};

// One block, so that the order of the sum depends only on the number of tokens.
struct LossFinishKernel {
    static constexpr int kThreadsMax = 1024;
    std::int64_t tokens;
    const std::int32_t* targets;
    LossPointers statistics;
    const float* scale;
    Elements loss;
    float* losses;  // may be null

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        double sums[1] = {0.0};
        for (std::int64_t i = block.thread(); i < tokens; i += block.threads()) {
            const bool ignored = targets[i] == cpu::kIgnoredTarget;
            const float value = ignored ? 0.0f
                                        : logf(statistics.sum_exp[i]) +
                                              (statistics.maximum[i] - statistics.target_logit[i]);
            if (losses != nullptr) {
                losses[i] = value;
            }
            sums[0] += static_cast<double>(value);
        }
        reduce_block(block, block.shared(), sums);
        if (block.thread() == 0) {
            const double scaled = sums[0] * static_cast<double>(*scale);
            loss.set(0, loss.at(0) + static_cast<float>(scaled));
        }
    }
};

template <class T>
struct LossBackwardKernel {
    static constexpr int kThreadsMax = kLossThreads;
    cpu::CrossEntropyShape shape;
    bool vector;
    T* logits;
    const std::int32_t* targets;
    LossPointers statistics;
    const float* scale;
    const float* widened;  // null: z is read from `logits`

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const std::int64_t token = block.x();
        T* row = logits + token * shape.vocab;
        const float weight = *scale;
        const std::int32_t target = targets[token];
        const std::int64_t hit = target_column(shape, target);
        const float maximum = statistics.maximum[token];
        const float factor =
            target == cpu::kIgnoredTarget ? 0.0f : weight / statistics.sum_exp[token];
        for_row(block, shape.vocab, vector, [&]<int kWidth>(std::int64_t column) {
            float values[kWidth];
            if (widened != nullptr) {
                load(widened + token * shape.vocab + column, values);
            } else {
                load(row + column, values);
            }
            ORRERY_UNROLL
            for (int i = 0; i < kWidth; ++i) {
                values[i] = block.exp2_approx((values[i] - maximum) * kLossLog2e) * factor -
                            (column + i == hit ? weight : 0.0f);
            }
            store(row + column, values);
        });
    }
};

inline LossPointers loss_pointers(const cpu::LossStatistics& x) {
    return {
        elements<float>(x.maximum), elements<float>(x.sum_exp), elements<float>(x.target_logit)};
}

template <class Queue>
void loss_statistics(Queue& queue,
                     const cpu::CrossEntropyShape& shape,
                     RowMaximum which,
                     ConstTensorView logits,
                     ConstTensorView targets,
                     const cpu::LossStatistics& statistics,
                     TensorView widened = {}) {
    const bool vector = vector_rows(shape.vocab, {logits, widened});
    for_dtype(logits.dtype, [&]<class T>(T*) {
        queue.launch(LossStatisticsKernel<T>{.shape = shape,
                                             .which = which,
                                             .vector = vector,
                                             .logits = elements<T>(logits),
                                             .targets = elements<std::int32_t>(targets),
                                             .statistics = loss_pointers(statistics),
                                             .widened = elements<float>(widened)},
                     {.blocks_x = shape.tokens,
                      .threads = kLossThreads,
                      .shared_bytes = kReduceBytes<float, 1>});
    });
}

template <class Queue>
void cross_entropy_maximum(Queue& queue,
                           const cpu::CrossEntropyShape& shape,
                           ConstTensorView logits,
                           TensorView maximum) {
    const cpu::LossStatistics statistics{.maximum = maximum, .sum_exp = {}, .target_logit = {}};
    loss_statistics(queue, shape, RowMaximum::only, logits, {}, statistics);
}

template <class Queue>
void cross_entropy_sums(Queue& queue,
                        const cpu::CrossEntropyShape& shape,
                        ConstTensorView logits,
                        ConstTensorView targets,
                        const cpu::LossStatistics& statistics) {
    loss_statistics(queue, shape, RowMaximum::given, logits, targets, statistics);
}

template <class Queue>
void cross_entropy_local(Queue& queue,
                         const cpu::CrossEntropyShape& shape,
                         ConstTensorView logits,
                         ConstTensorView targets,
                         const cpu::LossStatistics& statistics,
                         TensorView widened) {
    loss_statistics(queue, shape, RowMaximum::own, logits, targets, statistics, widened);
}

template <class Queue>
void cross_entropy_rescale(Queue& queue,
                           ConstTensorView local_maximum,
                           const cpu::LossStatistics& statistics) {
    queue.launch(LossRescaleKernel{.tokens = local_maximum.size,
                                   .local_maximum = elements<float>(local_maximum),
                                   .statistics = loss_pointers(statistics)},
                 flat_geometry(local_maximum.size));
}

template <class Queue>
void cross_entropy_finish(Queue& queue,
                          std::int64_t tokens,
                          ConstTensorView targets,
                          const cpu::LossStatistics& statistics,
                          ConstTensorView scale,
                          TensorView loss,
                          TensorView losses) {
    queue.launch(
        LossFinishKernel{.tokens = tokens,
                         .targets = elements<std::int32_t>(targets),
                         .statistics = loss_pointers(statistics),
                         .scale = elements<float>(scale),
                         .loss = any_elements(loss),
                         .losses = losses.empty() ? nullptr : elements<float>(losses)},
        {.threads = LossFinishKernel::kThreadsMax, .shared_bytes = kReduceBytes<double, 1>});
}

template <class Queue>
void cross_entropy_backward(Queue& queue,
                            const cpu::CrossEntropyShape& shape,
                            ConstTensorView targets,
                            const cpu::LossStatistics& statistics,
                            ConstTensorView scale,
                            TensorView logits,
                            ConstTensorView widened) {
    const bool vector = vector_rows(shape.vocab, {logits, widened});
    for_dtype(logits.dtype, [&]<class T>(T*) {
        queue.launch(LossBackwardKernel<T>{.shape = shape,
                                           .vector = vector,
                                           .logits = elements<T>(logits),
                                           .targets = elements<std::int32_t>(targets),
                                           .statistics = loss_pointers(statistics),
                                           .scale = elements<float>(scale),
                                           .widened = elements<float>(widened)},
                     {.blocks_x = shape.tokens, .threads = kLossThreads});
    });
}

}  // namespace orrery::device
