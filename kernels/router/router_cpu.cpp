// SPDX-License-Identifier: Apache-2.0
#include "kernels/router/router_cpu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/program/device_scalars.h"
#include "kernels/router/router_kernels.h"

namespace orrery::cpu {
namespace {

constexpr float kNotEligible = std::numeric_limits<float>::quiet_NaN();

// Sums in fp64: in nearly all cases the fp32 result does not depend on their order.
void softmax_row(std::span<const float> logits, std::span<float> out) {
    const float largest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        out[i] = std::exp(logits[i] - largest);
        sum += static_cast<double>(out[i]);
    }
    for (float& value : out) {
        value = static_cast<float>(static_cast<double>(value) / sum);
    }
}

float sigmoid(float x) {
    return 1.0f / (1.0f + std::exp(-x));
}

// The index of the largest value, the lowest among equal ones; 0 if all are NaN.
std::size_t best_of(std::span<const float> values) {
    std::size_t best = values.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!std::isnan(values[i]) && (best == values.size() || values[i] > values[best])) {
            best = i;
        }
    }
    return best == values.size() ? 0 : best;
}

// Makes the experts of all but the best groups ineligible.
void keep_groups(const RouterShape& shape, std::span<float> choice) {
    const auto size = static_cast<std::size_t>(shape.experts / shape.groups);
    std::vector<float> sums;
    for (std::size_t g = 0; g < static_cast<std::size_t>(shape.groups); ++g) {
        std::vector<float> group(choice.begin() + static_cast<std::ptrdiff_t>(g * size),
                                 choice.begin() + static_cast<std::ptrdiff_t>((g + 1) * size));
        const std::size_t first = best_of(group);
        float sum = group[first];
        group[first] = kNotEligible;
        const std::size_t second = best_of(group);
        sum += std::isnan(group[second]) ? 0.0f : group[second];
        sums.push_back(sum);
    }
    std::vector<bool> kept(sums.size(), false);
    for (std::int64_t i = 0; i < shape.kept_groups; ++i) {
        const std::size_t best = best_of(sums);
        kept[best] = true;
        sums[best] = kNotEligible;
    }
    for (std::size_t i = 0; i < choice.size(); ++i) {
        choice[i] = kept[i / size] ? choice[i] : kNotEligible;
    }
}

class RouterRow {
public:
    explicit RouterRow(const RouterShape& shape)
        : shape_(shape),
          logits_(static_cast<std::size_t>(shape.experts)),
          choice_(logits_.size()),
          chosen_(static_cast<std::size_t>(shape.k)),
          weights_(chosen_.size()) {}

    std::span<float> logits() { return logits_; }
    std::vector<std::size_t>& chosen() { return chosen_; }

    void choose(ConstTensorView bias) {
        if (shape_.biased || shape_.groups > 1) {
            scores(choice_);
        } else {
            choice_ = logits_;
        }
        for (std::size_t i = 0; shape_.biased && i < choice_.size(); ++i) {
            choice_[i] += load(bias, static_cast<std::int64_t>(i));
        }
        if (shape_.groups > 1) {
            keep_groups(shape_, choice_);
        }
        for (std::size_t& expert : chosen_) {
            expert = best_of(choice_);
            choice_[expert] = kNotEligible;
        }
    }

    std::span<const float> weigh() {
        for (std::size_t j = 0; j < chosen_.size(); ++j) {
            weights_[j] = logits_[chosen_[j]];
        }
        if (shape_.score == RouterScore::softmax && shape_.normalised) {
            softmax_row(weights_, weights_);
        } else if (shape_.score == RouterScore::softmax) {
            scores(choice_);
            for (std::size_t j = 0; j < chosen_.size(); ++j) {
                weights_[j] = choice_[chosen_[j]];
            }
        } else {
            sum_ = 0;
            for (float& weight : weights_) {
                weight = sigmoid(weight);
                sum_ += weight;
            }
            sum_ += kRouterSumFloor;
            for (float& weight : weights_) {
                weight = shape_.normalised ? weight / sum_ : weight;
            }
        }
        return weights_;
    }

    // The gradient of the logits from `g`, the weights' gradients. Call it after weigh().
    void gradient(std::span<const float> g, std::span<float> out) {
        float mean = 0;
        for (std::size_t j = 0; j < g.size(); ++j) {
            mean += g[j] * weights_[j];
        }
        const bool dense = router_gradient_is_dense(shape_);
        for (std::size_t i = 0; i < out.size(); ++i) {
            out[i] = dense ? -choice_[i] * mean : 0.0f;  // choice_ has all scores after weigh()
        }
        for (std::size_t j = 0; j < g.size(); ++j) {
            const float w = weights_[j];
            float& d = out[chosen_[j]];
            if (shape_.score == RouterScore::softmax) {
                d += dense ? w * g[j] : w * (g[j] - mean);
            } else {
                const float s = shape_.normalised ? w * sum_ : w;
                d += (shape_.normalised ? (g[j] - mean) / sum_ : g[j]) * s * (1.0f - s);
            }
        }
    }

    // Adds the gradient of the sum over experts of factor times probability.
    void add_balance(std::span<const float> factors, std::span<float> out) {
        scores(choice_);
        const bool sigmoids = shape_.score == RouterScore::sigmoid;
        float sum = sigmoids ? kRouterSumFloor : 1.0f;
        for (std::size_t i = 0; sigmoids && i < choice_.size(); ++i) {
            sum += choice_[i];
        }
        float mean = 0;
        for (std::size_t i = 0; i < choice_.size(); ++i) {
            mean += choice_[i] / sum * factors[i];
        }
        for (std::size_t i = 0; i < choice_.size(); ++i) {
            const float slope = choice_[i] / sum * (sigmoids ? 1.0f - choice_[i] : 1.0f);
            out[i] += slope * (factors[i] - mean);
        }
    }

private:
    void scores(std::vector<float>& out) const {
        if (shape_.score == RouterScore::softmax) {
            softmax_row(logits_, out);
        } else {
            std::transform(logits_.begin(), logits_.end(), out.begin(), sigmoid);
        }
    }

    const RouterShape& shape_;
    std::vector<float> logits_;
    std::vector<float> choice_;
    std::vector<std::size_t> chosen_;
    std::vector<float> weights_;
    float sum_ = 0;  // of the chosen sigmoids
};

// By expert: the derivative of a token's balancing loss with respect to its probability of the
// expert.
std::vector<float> balance_factors(const RouterShape& shape,
                                   std::span<const std::int32_t> chosen,
                                   float balance) {
    std::vector<float> factors(shape.balanced ? static_cast<std::size_t>(shape.experts) : 0);
    const float one =
        balance * static_cast<float>(shape.experts) / static_cast<float>(shape.tokens * shape.k);
    for (std::size_t i = 0; shape.balanced && i < chosen.size(); ++i) {
        ORRERY_CHECK(chosen[i] >= 0 && chosen[i] < shape.experts);
        factors[static_cast<std::size_t>(chosen[i])] += one;
    }
    return factors;
}

}  // namespace

void router_forward(const RouterShape& shape,
                    ConstTensorView logits,
                    ConstTensorView bias,
                    TensorView weights,
                    TensorView experts) {
    ORRERY_CHECK(is_router_shape(shape) && bias.empty() != shape.biased);
    ORRERY_CHECK(experts.dtype == Dtype::int32);
    RouterRow row{shape};
    for (std::int64_t t = 0; t < shape.tokens; ++t) {
        load_row(logits, t * shape.experts, row.logits());
        row.choose(bias);
        store_row(weights, t * shape.k, row.weigh());
        for (std::size_t j = 0; j < row.chosen().size(); ++j) {
            const auto expert = static_cast<std::int32_t>(row.chosen()[j]);
            const std::int64_t at = t * shape.k + static_cast<std::int64_t>(j);
            std::memcpy(experts.data + 4 * at, &expert, 4);
        }
    }
}

void router_backward(const RouterShape& shape,
                     ConstTensorView dweights,
                     ConstTensorView logits,
                     ConstTensorView experts,
                     TensorView dlogits,
                     float balance) {
    ORRERY_CHECK(is_router_shape(shape));
    const std::span<const std::int32_t> chosen = ids(experts);
    const std::vector<float> factors = balance_factors(shape, chosen, balance);
    RouterRow row{shape};
    std::vector<float> g(static_cast<std::size_t>(shape.k));
    std::vector<float> d(static_cast<std::size_t>(shape.experts));
    for (std::int64_t t = 0; t < shape.tokens; ++t) {
        load_row(logits, t * shape.experts, row.logits());
        load_row(dweights, t * shape.k, g);
        for (std::size_t j = 0; j < g.size(); ++j) {
            const std::int32_t expert = chosen[static_cast<std::size_t>(t * shape.k) + j];
            ORRERY_CHECK(expert >= 0 && expert < shape.experts);
            row.chosen()[j] = static_cast<std::size_t>(expert);
        }
        row.weigh();
        row.gradient(g, d);
        if (shape.balanced) {
            row.add_balance(factors, d);
        }
        store_row(dlogits, t * shape.experts, d);
    }
}

}  // namespace orrery::cpu

namespace orrery::kernel {
namespace {

// The loss is a mean over the tokens of the global batch.
float balance_of_token(ConstTensorView scalars) {
    return load(scalars, static_cast<std::int64_t>(DeviceScalar::balance)) *
           load(scalars, static_cast<std::int64_t>(DeviceScalar::loss_scale));
}

}  // namespace

void RouterForward::run(const KernelArguments& op) {
    cpu::router_forward(router_shape(op.call),
                        op.reads[0].view,
                        op.reads.size() > 1 ? op.reads[1].view : TensorView{},
                        op.writes[0].view,
                        op.writes[1].view);
}

void RouterBackward::run(const KernelArguments& op) {
    cpu::router_backward(router_shape(op.call),
                         op.reads[0].view,
                         op.reads[1].view,
                         op.reads[2].view,
                         op.writes[0].view,
                         op.reads.size() > 3 ? balance_of_token(op.reads[3].view) : 0.0f);
}

}  // namespace orrery::kernel
