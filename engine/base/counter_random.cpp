// SPDX-License-Identifier: Apache-2.0
#include "engine/base/counter_random.h"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>

namespace orrery {

std::uint64_t CounterRandom::next() {
    if (has_spare_) {
        has_spare_ = false;
        return spare_;
    }
    const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
    const r123::Philox4x32::ctr_type counter = {
        {block_++, purpose_, low(entity_), low(entity_ >> 32)}};
    const r123::Philox4x32::key_type key = {{low(seed_), low(seed_ >> 32)}};
    const r123::Philox4x32::ctr_type words = r123::Philox4x32{}(counter, key);
    spare_ = std::uint64_t{words[2]} << 32 | words[3];
    has_spare_ = true;
    return std::uint64_t{words[0]} << 32 | words[1];
}

double CounterRandom::uniform() {
    return (static_cast<double>(next() >> 12) + 0.5) * 0x1p-52;
}

double CounterRandom::exponential() {
    return -std::log(uniform());
}

double CounterRandom::normal() {
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

double CounterRandom::gamma(double shape) {
    if (shape < 1) {
        const double raised = gamma(shape + 1) * (shape + 1);
        return raised * std::pow(uniform(), 1 / shape) / shape;
    }
    const double d = shape - 1.0 / 3;
    const double c = 1 / std::sqrt(9 * d);
    for (;;) {
        const double x = normal();
        const double u = uniform();
        const double v = std::pow(1 + c * x, 3);
        if (v > 0 && std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) {
            return d * v / shape;
        }
    }
}

}  // namespace orrery
