// SPDX-License-Identifier: Apache-2.0
// The participants of a transfer. Most transfers have two. These lie in the transfer object itself,
// so that one prefetch covers both.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/program/execution_ids.h"

namespace orrery {

class Participants {
public:
    void push_back(RankStreamId stream) {
        if (size_ < few_.size()) {
            few_[size_++] = stream;
            return;
        }
        if (size_ == few_.size()) {
            keep_many();
        }
        many_->push_back(stream);
        ++size_;
    }
    void clear() { size_ = 0; }

    std::uint32_t size() const { return size_; }
    RankStreamId front() const { return *begin(); }
    RankStreamId* begin() { return size_ <= few_.size() ? few_.data() : many_->data(); }
    RankStreamId* end() { return begin() + size_; }
    const RankStreamId* begin() const {
        return size_ <= few_.size() ? few_.data() : many_->data();
    }
    const RankStreamId* end() const { return begin() + size_; }

private:
    void keep_many() {
        if (many_ == nullptr) {
            many_ = std::make_unique<std::vector<RankStreamId>>();
        }
        many_->assign(few_.begin(), few_.end());
    }

    std::array<RankStreamId, 2> few_{};
    // All participants, if they do not fit into few_. A pointer keeps this rare case small, because
    // every transfer has the member.
    std::unique_ptr<std::vector<RankStreamId>> many_;
    std::uint32_t size_ = 0;
};

}  // namespace orrery
