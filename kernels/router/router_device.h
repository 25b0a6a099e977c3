// SPDX-License-Identifier: Apache-2.0
// Kernels of kernels/router/router_cuda.h: a warp has a token. The compared values are in shared
// memory. All lanes together find the best one, k times; lane j keeps choice j.
#pragma once

#include "kernels/cuda/flat.h"
#include "kernels/cuda/reduce.h"
#include "kernels/router/router_cuda.h"

namespace orrery::device {

inline constexpr int kRouterWarps = 4;
inline constexpr int kRouterThreads = kRouterWarps * kWarp;

struct RouterBest {
    float value;
    int index;  // -1: none
};

// Any value ranks before none, larger before smaller, and the lower index wins ties.
ORRERY_HOST_DEVICE RouterBest better_choice(RouterBest a, RouterBest b) {
    if (a.index < 0 || b.index < 0) {
        return a.index < 0 ? b : a;
    }
    const bool second = b.value > a.value || (b.value == a.value && b.index < a.index);
    return second ? b : a;
}

// The best of values[0 … count), for every lane of the warp; 0 if all are NaN.
template <class Block>
ORRERY_DEVICE int best_choice(Block& block, const float* values, int count) {
    RouterBest best{0.0f, -1};
    for (int i = block.lane(); i < count; i += kWarp) {
        const float value = values[i];
        if (value == value) {
            best = better_choice(best, {value, i});
        }
    }
    ORRERY_UNROLL
    for (int mask = kWarp / 2; mask > 0; mask /= 2) {
        const float value = block.shuffle_xor(best.value, mask);
        const int index = block.shuffle_xor(best.index, mask);
        best = better_choice(best, {value, index});
    }
    return best.index < 0 ? 0 : best.index;
}

ORRERY_DEVICE float router_sigmoid(float x) {
    return 1.0f / (1.0f + expf(-x));
}

// exp(x - maximum) / sum is the softmax of a row.
struct RouterSoftmax {
    float maximum;
    float sum;
    ORRERY_DEVICE float operator()(float x) const { return expf(x - maximum) / sum; }
};

template <class T, class Block>
ORRERY_DEVICE RouterSoftmax router_softmax(Block& block, const T* row, int count) {
    float maximum = -__builtin_huge_valf();
    for (int i = block.lane(); i < count; i += kWarp) {
        maximum = Larger{}(maximum, widen(row[i]));
    }
    maximum = reduce_warp(block, maximum, Larger{});
    float sum = 0.0f;
    for (int i = block.lane(); i < count; i += kWarp) {
        sum += expf(widen(row[i]) - maximum);
    }
    return {maximum, reduce_warp(block, sum)};
}

// The weight of this lane's choice; `own` is false for lanes without one.
template <class T, class Block>
ORRERY_DEVICE float router_weight(
    Block& block, const RouterShape& shape, const T* row, float logit, bool own, float& sum) {
    if (shape.score == RouterScore::sigmoid) {
        const float score = own ? router_sigmoid(logit) : 0.0f;
        sum = reduce_warp(block, score) + cpu::kRouterSumFloor;
        return shape.normalised ? score / sum : score;
    }
    if (!shape.normalised) {
        const RouterSoftmax softmax = router_softmax(block, row, static_cast<int>(shape.experts));
        return own ? softmax(logit) : 0.0f;
    }
    const float maximum = reduce_warp(block, own ? logit : -__builtin_huge_valf(), Larger{});
    const float score = own ? expf(logit - maximum) : 0.0f;
    sum = reduce_warp(block, score);
    return score / sum;
}

template <class T>
struct RouterForwardKernel {
    static constexpr int kThreadsMax = kRouterThreads;
    RouterShape shape;
    const T* logits;
    const float* bias;
    float* weights;
    std::int32_t* experts;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const std::int64_t token = block.x() * kRouterWarps + block.warp();
        if (token >= shape.tokens) {
            return;  // uniform for the warp, and no other warp waits for it
        }
        const auto count = static_cast<int>(shape.experts);
        const auto groups = static_cast<int>(shape.groups);
        const T* row = logits + token * count;
        float* choice = reinterpret_cast<float*>(block.shared()) + block.warp() * (count + groups);
        compare_by(block, row, choice);
        block.sync_warp();
        if (groups > 1) {
            keep_groups(block, choice, choice + count);
        }
        int mine = 0;
        for (int j = 0; j < shape.k; ++j) {
            const int best = best_choice(block, choice, count);
            block.sync_warp();
            if (block.lane() == 0) {
                choice[best] = not_eligible();
            }
            block.sync_warp();
            mine = j == block.lane() ? best : mine;
        }
        const bool own = block.lane() < shape.k;
        float sum;
        const float weight = router_weight(block, shape, row, widen(row[mine]), own, sum);
        if (own) {
            weights[token * shape.k + block.lane()] = weight;
            experts[token * shape.k + block.lane()] = mine;
        }
    }

    ORRERY_DEVICE static float not_eligible() { return __builtin_nanf(""); }

    template <class Block>
    ORRERY_DEVICE void compare_by(Block& block, const T* row, float* choice) const {
        const auto count = static_cast<int>(shape.experts);
        const bool scores = shape.biased || shape.groups > 1;
        const bool sigmoids = shape.score == RouterScore::sigmoid;
        RouterSoftmax softmax{0.0f, 1.0f};
        if (scores && !sigmoids) {
            softmax = router_softmax(block, row, count);
        }
        for (int i = block.lane(); i < count; i += kWarp) {
            const float x = widen(row[i]);
            const float score = !scores ? x : sigmoids ? router_sigmoid(x) : softmax(x);
            choice[i] = shape.biased ? score + bias[i] : score;
        }
    }

    template <class Block>
    ORRERY_DEVICE void keep_groups(Block& block, float* choice, float* sums) const {
        const auto count = static_cast<int>(shape.experts);
        const auto groups = static_cast<int>(shape.groups);
        const int size = count / groups;
        for (int g = block.lane(); g < groups; g += kWarp) {
            RouterBest first{0.0f, -1};
            RouterBest second{0.0f, -1};
            for (int i = g * size; i < (g + 1) * size; ++i) {
                if (choice[i] != choice[i]) {
                    continue;
                }
                const RouterBest here{choice[i], i};
                const bool leads = better_choice(first, here).index == i;
                second = leads ? first : better_choice(second, here);
                first = leads ? here : first;
            }
            sums[g] = first.index < 0 ? not_eligible()
                                      : first.value + (second.index < 0 ? 0.0f : second.value);
        }
        block.sync_warp();
        // Marks the kept groups by clearing their sums, and makes all other experts ineligible.
        for (int kept = 0; kept < shape.kept_groups; ++kept) {
            const int best = best_choice(block, sums, groups);
            block.sync_warp();
            if (block.lane() == 0) {
                sums[best] = not_eligible();
            }
            block.sync_warp();
        }
        for (int i = block.lane(); i < count; i += kWarp) {
            if (sums[i / size] == sums[i / size]) {
                choice[i] = not_eligible();
            }
        }
        block.sync_warp();
    }
};

template <class T>
struct RouterBackwardKernel {
    static constexpr int kThreadsMax = kRouterThreads;
    RouterShape shape;
    const float* dweights;
    const T* logits;
    const std::int32_t* experts;
    T* dlogits;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        const std::int64_t token = block.x() * kRouterWarps + block.warp();
        if (token >= shape.tokens) {
            return;
        }
        const auto count = static_cast<int>(shape.experts);
        const T* row = logits + token * count;
        const bool own = block.lane() < shape.k;
        const std::int64_t at = token * shape.k + (own ? block.lane() : 0);
        const int mine = own ? experts[at] : -1;
        const float g = own ? dweights[at] : 0.0f;
        const float logit = own ? widen(row[mine]) : 0.0f;
        float sum = 1.0f;
        const float weight = router_weight(block, shape, row, logit, own, sum);
        const float mean = reduce_warp(block, g * weight);
        const bool dense = router_gradient_is_dense(shape);
        float d = dense ? weight * g : weight * (g - mean);
        if (shape.score == RouterScore::sigmoid) {
            const float score = shape.normalised ? weight * sum : weight;
            d = (shape.normalised ? (g - mean) / sum : g) * score * (1.0f - score);
        }
        RouterSoftmax softmax{0.0f, 1.0f};
        if (dense) {
            softmax = router_softmax(block, row, count);
        }
        // All lanes take part in the shuffles of each round, even beyond the last column.
        for (int first = 0; first < count; first += kWarp) {
            const int column = first + block.lane();
            float total = 0.0f;
            for (int j = 0; j < shape.k; ++j) {
                const int expert = block.shuffle(mine, j);
                const float part = block.shuffle(d, j);
                total += expert == column ? part : 0.0f;
            }
            if (column < count) {
                total -= dense ? softmax(widen(row[column])) * mean : 0.0f;
                narrow(total, dlogits[token * count + column]);
            }
        }
    }
};

inline Geometry router_geometry(const RouterShape& shape, bool choice) {
    return {.blocks_x = (shape.tokens + kRouterWarps - 1) / kRouterWarps,
            .threads = kRouterThreads,
            .shared_bytes =
                choice ? static_cast<int>(kRouterWarps * (shape.experts + shape.groups) * 4) : 0};
}

template <class Queue>
void router_forward(Queue& queue,
                    const RouterShape& shape,
                    ConstTensorView logits,
                    ConstTensorView bias,
                    TensorView weights,
                    TensorView experts) {
    ORRERY_CHECK(is_router_shape(shape) && why_no_router(shape).empty());
    ORRERY_CHECK(bias.empty() != shape.biased && experts.dtype == Dtype::int32);
    for_dtype(logits.dtype, [&]<class T>(T*) {
        queue.launch(
            RouterForwardKernel<T>{.shape = shape,
                                   .logits = elements<T>(logits),
                                   .bias = shape.biased ? elements<float>(bias) : nullptr,
                                   .weights = elements<float>(weights),
                                   .experts = reinterpret_cast<std::int32_t*>(experts.data)},
            router_geometry(shape, true));
    });
}

template <class Queue>
void router_backward(Queue& queue,
                     const RouterShape& shape,
                     ConstTensorView dweights,
                     ConstTensorView logits,
                     ConstTensorView experts,
                     TensorView dlogits) {
    ORRERY_CHECK(is_router_shape(shape) && why_no_router(shape).empty());
    ORRERY_CHECK(logits.dtype == dlogits.dtype && experts.dtype == Dtype::int32);
    for_dtype(logits.dtype, [&]<class T>(T*) {
        queue.launch(
            RouterBackwardKernel<T>{.shape = shape,
                                    .dweights = elements<float>(dweights),
                                    .logits = elements<T>(logits),
                                    .experts = reinterpret_cast<const std::int32_t*>(experts.data),
                                    .dlogits = elements<T>(dlogits)},
            router_geometry(shape, false));
    });
}

}  // namespace orrery::device
