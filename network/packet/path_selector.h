// SPDX-License-Identifier: Apache-2.0
// The choice of the entropy of a sender's next packet. Switches hash it, so that it selects the
// path. The kinds are those of Ultra Ethernet (uet-htsim uec_mp.cpp) and REPS (Bonato et al.,
// 2024).
#pragma once

#include <cstdint>
#include <vector>

#include "network/packet/draw.h"
#include "network/packet/parameters.h"

namespace orrery::packet {

enum class PathNews : std::uint8_t { good, marked, trimmed };

class PathSelector {
public:
    // `num_paths` is a power of two. All draws of `flow` use `key`.
    PathSelector(SprayKind kind, std::uint32_t num_paths, std::uint64_t key, std::uint32_t flow);

    std::uint16_t next();
    void on_news(std::uint16_t entropy, PathNews news);
    // A packet was lost on an unknown path. From then on, REPS uses only known good paths.
    void on_timeout();

private:
    std::uint32_t random() { return draw(key_, flow_, num_draws_++); }
    std::uint16_t in_turn();  // the next of the round, with or without bitmap
    void advance();
    std::uint16_t next_reps();

    SprayKind kind_;
    bool frozen_ = false;
    std::uint16_t mask_;
    std::uint16_t upper_;  // bits above the path number, equal for all packets of the flow
    std::uint16_t index_ = 0;
    std::uint16_t order_ = 0;  // XOR mask of this round
    std::uint32_t flow_;
    std::uint32_t num_draws_ = 0;
    std::uint64_t key_;
    std::vector<std::uint8_t> penalty_;  // by path: rounds to skip
    std::vector<std::uint16_t> good_;    // ring of entropies acknowledged unmarked
    std::uint32_t good_head_ = 0;        // the oldest entropy that was not reused
    std::uint32_t num_good_ = 0;
    std::uint32_t ever_good_ = 0;
};

}  // namespace orrery::packet
