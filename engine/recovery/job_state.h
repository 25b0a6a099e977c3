// SPDX-License-Identifier: Apache-2.0
// What a recovery machine believes of its job: which node stands in which place, who could help
// out, and what has happened so far. A place (slot) is one node's worth of ranks; slots of one unit
// are the data-parallel replicas that cannot go on without each other, slots of one stage do the
// same work on other data.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/recovery/messages.h"

namespace orrery {

struct JobShape {
    std::uint32_t slots = 1;
    std::uint32_t units = 1;            // data-parallel parts that can be left out
    std::uint32_t stages = 1;           // pipeline stages; slot = unit and stage by arithmetic
    bool unit_major = true;             // a unit's slots stand together, else a stage's
    std::uint32_t nodes_per_place = 1;  // of one unit and stage
    bool state_sharded = false;  // over data-parallel ranks: each holds state that no other has

    std::uint32_t unit_of(std::uint32_t slot) const {
        return unit_major ? slot / (slots / units) : slot / nodes_per_place % units;
    }
    std::uint32_t stage_of(std::uint32_t slot) const {
        const std::uint32_t places = slots / units / nodes_per_place;
        const std::uint32_t place = unit_major ? slot % (slots / units) / nodes_per_place
                                               : slot / (units * nodes_per_place);
        return place * stages / places;
    }
    // The place before a slot's own in its unit, of the first the last: who may compute its work
    // redundantly. Itself if there is only one.
    std::uint32_t shadow_of(std::uint32_t slot) const {
        const std::uint32_t around = unit_major ? slots / units : slots;
        const std::uint32_t back = unit_major ? nodes_per_place : units * nodes_per_place;
        return slot / around * around + (slot % around + around - back) % around;
    }
    bool operator==(const JobShape&) const = default;
};

inline constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};

enum class Vacancy : std::uint8_t { none, open, dropped, rerouted, taken_over };

struct JobSlot {
    NodeNumber node = kNobody;
    Vacancy vacancy = Vacancy::none;
};

struct JobState {
    JobShape shape;
    std::vector<JobSlot> slots;
    std::vector<std::uint32_t> vacancies;  // slots without a node, ascending
    std::vector<std::uint32_t> slot_of_node;
    std::vector<NodeNumber> spares;      // ready, the longest ready first
    std::vector<std::uint32_t> evicted;  // slots that lost their node in this incident
    std::vector<std::uint32_t> without;  // slots that had none when the training began
    std::uint32_t attempt = 0;           // failures in a row without much training between them
    std::uint32_t incidents = 0;
    WallTime trained;  // between training_started and the fault, over all incidents

    JobState(const JobShape& job, std::uint32_t nodes);
    // Vacant slots of a kind; a unit that is dropped as a whole counts with each of its slots.
    std::uint32_t vacant(Vacancy kind) const;
    std::vector<std::uint32_t> dropped_units() const;  // ascending
    // Slots of this one's stage that have a node.
    std::uint32_t peers(std::uint32_t slot) const;
    void vacate(std::uint32_t slot);
    void place(std::uint32_t slot, NodeNumber node);
};

}  // namespace orrery
