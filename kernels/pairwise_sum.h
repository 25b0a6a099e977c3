// SPDX-License-Identifier: Apache-2.0
// Sums of fp32 vectors in a fixed order: pairs of neighbours first, then pairs of their sums. If
// the vectors are split into groups of equal powers of two, the sum of the groups' sums has the
// same bits. Ranks may therefore sum their own vectors first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace orrery {

class PairwiseSum {
public:
    explicit PairwiseSum(std::size_t size) : size_(size) {}

    // The buffer for the next vector; add_next() then adds it.
    std::span<float> next() {
        if (used_ == vectors_.size()) {
            vectors_.emplace_back(size_);
        }
        return vectors_[used_];
    }
    void add_next() {
        ++used_;
        for (std::uint64_t n = ++count_; n % 2 == 0; n /= 2) {
            add_last_two();
        }
    }
    // The sum of all vectors. At the end, sums of fewer vectors are added to the sums before them.
    std::span<float> total() {
        while (used_ > 1) {
            add_last_two();
        }
        return vectors_.front();
    }

private:
    void add_last_two() {
        const std::vector<float>& right = vectors_[used_ - 1];
        std::vector<float>& left = vectors_[used_ - 2];
        for (std::size_t i = 0; i < size_; ++i) {
            left[i] += right[i];
        }
        --used_;
    }

    std::size_t size_;
    std::size_t used_ = 0;
    std::uint64_t count_ = 0;
    std::vector<std::vector<float>> vectors_;
};

}  // namespace orrery
