// SPDX-License-Identifier: Apache-2.0
#include "network/packet/path_selector.h"

#include <algorithm>
#include <bit>

#include "engine/base/check.h"

namespace orrery::packet {

namespace {

constexpr std::uint8_t kPenaltyMax = 15;
constexpr std::uint32_t kRepsRing = 8;       // for REPS
constexpr std::uint32_t kRecycleRing = 256;  // for mixed

std::uint8_t penalty_of(PathNews news) {
    switch (news) {
        case PathNews::good:
            return 0;
        case PathNews::marked:
            return 1;
        case PathNews::trimmed:
            break;
    }
    return 4;
}

}  // namespace

PathSelector::PathSelector(SprayKind kind,
                           std::uint32_t num_paths,
                           std::uint64_t key,
                           std::uint32_t flow)
    : kind_(kind), mask_(static_cast<std::uint16_t>(num_paths - 1)), flow_(flow), key_(key) {
    ORRERY_CHECK(std::has_single_bit(num_paths) && num_paths <= 0x10000);
    upper_ = static_cast<std::uint16_t>(random() & 0xffff & ~mask_);
    order_ = static_cast<std::uint16_t>(random() & mask_);
    if (kind == SprayKind::bitmap || kind == SprayKind::mixed) {
        penalty_.assign(num_paths, 0);
    }
    if (kind == SprayKind::reps) {
        good_.assign(kRepsRing, 0);
    } else if (kind == SprayKind::mixed) {
        good_.assign(kRecycleRing, 0);
    }
}

void PathSelector::advance() {
    if (++index_ == static_cast<std::uint16_t>(mask_ + 1)) {
        index_ = 0;
        order_ = static_cast<std::uint16_t>(random() & mask_);
    }
}

// Skips a path with a penalty, and the paths after it that have one. Each visit reduces the penalty
// of the first.
std::uint16_t PathSelector::in_turn() {
    auto path = static_cast<std::uint16_t>((index_ ^ order_) & mask_);
    if (!penalty_.empty() && penalty_[path] > 0) {
        --penalty_[path];
        for (std::uint32_t i = 0; i <= mask_; ++i) {
            advance();
            path = static_cast<std::uint16_t>((index_ ^ order_) & mask_);
            if (penalty_[path] == 0) {
                break;
            }
        }
    }
    advance();
    return path | upper_;
}

std::uint16_t PathSelector::next_reps() {
    const auto ring = static_cast<std::uint32_t>(good_.size());
    if (num_good_ > 0) {
        --num_good_;
        return good_[good_head_++ % ring];
    }
    if (frozen_ && ever_good_ > 0) {
        return good_[random() % std::min(ever_good_, ring)];
    }
    return static_cast<std::uint16_t>((random() & mask_) | upper_);
}

std::uint16_t PathSelector::next() {
    switch (kind_) {
        case SprayKind::single:
            return upper_;
        case SprayKind::reps:
            return next_reps();
        case SprayKind::mixed:
            if (num_good_ > 0) {
                return next_reps();
            }
            break;
        case SprayKind::oblivious:
        case SprayKind::bitmap:
            break;
    }
    return in_turn();
}

void PathSelector::on_news(std::uint16_t entropy, PathNews news) {
    if (!penalty_.empty()) {
        std::uint8_t& penalty = penalty_[entropy & mask_];
        penalty = static_cast<std::uint8_t>(std::min<int>(penalty + penalty_of(news), kPenaltyMax));
    }
    if (!good_.empty() && news == PathNews::good) {
        const auto ring = static_cast<std::uint32_t>(good_.size());
        if (num_good_ == ring) {  // replaces the oldest
            ++good_head_;
            --num_good_;
        }
        good_[(good_head_ + num_good_) % ring] = entropy;
        ++num_good_;
        ++ever_good_;
    }
}

void PathSelector::on_timeout() {
    frozen_ = true;
}

}  // namespace orrery::packet
