// SPDX-License-Identifier: Apache-2.0
// The participants of a transfer: mostly two, and those lie in the transfer itself, where they are
// asked for together with the rest of it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace orrery {

class Participants {
public:
    void push_back(std::uint32_t stream) {
        if (size_ < few_.size()) {
            few_[size_++] = stream;
            return;
        }
        if (size_ == few_.size()) {
            many_.assign(few_.begin(), few_.end());
        }
        many_.push_back(stream);
        ++size_;
    }
    void clear() { size_ = 0; }

    std::uint32_t size() const { return size_; }
    std::uint32_t front() const { return *begin(); }
    std::uint32_t* begin() { return size_ <= few_.size() ? few_.data() : many_.data(); }
    std::uint32_t* end() { return begin() + size_; }
    const std::uint32_t* begin() const { return size_ <= few_.size() ? few_.data() : many_.data(); }
    const std::uint32_t* end() const { return begin() + size_; }

private:
    std::array<std::uint32_t, 2> few_{};
    std::uint32_t size_ = 0;
    std::vector<std::uint32_t> many_;  // all of them, if they are more than few_ takes
};

}  // namespace orrery
