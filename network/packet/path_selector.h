// SPDX-License-Identifier: Apache-2.0
// Which entropy a sender gives its next packet: switches hash it, so it picks the path. The kinds
// are those of Ultra Ethernet (uet-htsim uec_mp.cpp) and REPS (Bonato et al., 2024).
#pragma once

#include <cstdint>
#include <vector>

#include "network/packet/draw.h"
#include "network/packet/parameters.h"

namespace orrery::packet {

enum class PathNews : std::uint8_t { good, marked, trimmed };

class PathSelector {
public:
    // `num_paths` is a power of two. All draws of `flow` come from `key`.
    PathSelector(SprayKind kind, std::uint32_t num_paths, std::uint64_t key, std::uint32_t flow);

    std::uint16_t next();
    void on_news(std::uint16_t entropy, PathNews news);
    // A packet was lost on an unknown path. REPS then repeats known good paths only.
    void on_timeout();

private:
    std::uint32_t random() { return draw(key_, flow_, num_draws_++); }
    std::uint16_t in_turn();  // the next of the round, bitmap or not
    void advance();
    std::uint16_t next_reps();

    SprayKind kind_;
    bool frozen_ = false;
    std::uint16_t mask_;
    std::uint16_t upper_;  // bits above the path number, the same for all packets of the flow
    std::uint16_t index_ = 0;
    std::uint16_t order_ = 0;  // xor of this round
    std::uint32_t flow_;
    std::uint32_t num_draws_ = 0;
    std::uint64_t key_;
    std::vector<std::uint8_t> penalty_;  // rounds to skip, by path
    std::vector<std::uint16_t> good_;    // acknowledged unmarked, a ring
    std::uint32_t good_head_ = 0;        // oldest one not used again yet
    std::uint32_t num_good_ = 0;
    std::uint32_t ever_good_ = 0;
};

}  // namespace orrery::packet
