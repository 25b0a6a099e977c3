// SPDX-License-Identifier: Apache-2.0
// What tests of CPU kernels share: tensors that own memory, drawn numbers, errors against float64,
// and derivatives by central differences.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "kernels/tensor_view.h"

namespace orrery::numeric {

using Doubles = std::vector<double>;

class Tensor {
public:
    // All zeros.
    Tensor(std::int64_t size, Dtype dtype)
        : bytes_(static_cast<std::size_t>(size * size_bytes(dtype))), dtype_(dtype), size_(size) {}
    TensorView view() { return {bytes_.data(), dtype_, size_}; }
    ConstTensorView view() const { return {bytes_.data(), dtype_, size_}; }
    std::int64_t size() const { return size_; }
    double at(std::int64_t i) const { return static_cast<double>(load(view(), i)); }
    Doubles doubles() const {
        Doubles values;
        for (std::int64_t i = 0; i < size_; ++i) {
            values.push_back(at(i));
        }
        return values;
    }
    bool operator==(const Tensor&) const = default;

private:
    std::vector<std::byte> bytes_;
    Dtype dtype_;
    std::int64_t size_;
};

// Drawn numbers and shapes, a function of the seed only.
class Draw {
public:
    explicit Draw(std::uint64_t seed) : random_(seed) {}
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low +
               static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
    }
    bool coin() { return random_() % 2 == 0; }
    double real(double low, double high) {
        return low + (high - low) * static_cast<double>(random_() >> 11) * 0x1p-53;
    }
    Tensor tensor(std::int64_t size, Dtype dtype, double low = -1, double high = 1) {
        Tensor drawn{size, dtype};
        for (std::int64_t i = 0; i < size; ++i) {
            store(drawn.view(), i, static_cast<float>(real(low, high)));
        }
        return drawn;
    }
    std::vector<std::int32_t> ids(std::int64_t count, std::int64_t low, std::int64_t high) {
        std::vector<std::int32_t> drawn;
        for (std::int64_t i = 0; i < count; ++i) {
            drawn.push_back(static_cast<std::int32_t>(between(low, high)));
        }
        return drawn;
    }

private:
    std::mt19937_64 random_;
};

// |actual - expected| / |expected| in the Euclidean norm.
double relative_error(const Doubles& actual, const Doubles& expected);
// |actual - expected|.
double distance(const Tensor& actual, const Doubles& expected);
inline double relative_error(const Tensor& actual, const Doubles& expected) {
    return relative_error(actual.doubles(), expected);
}

// What a result may be off by: rounding of fp32 sums, of which differences may be small; rounding
// of bf16 to 8 bits (half a unit is 2^-9 of the number, and sums of rounded operands keep it in
// proportion).
inline double tolerance(Dtype dtype) {
    return dtype == Dtype::bf16 ? 4e-3 : 1e-5;
}

// Gradient of `loss` at x by central differences.
Doubles numeric_gradient(const std::function<double(const Doubles&)>& loss, Doubles x);

inline double inner_product(const Doubles& a, const Doubles& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

// Part of a vector.
inline Doubles part(const Doubles& x, std::int64_t first, std::int64_t count) {
    return {x.begin() + first, x.begin() + first + count};
}

}  // namespace orrery::numeric
