// SPDX-License-Identifier: Apache-2.0
// The state of a job as a recovery machine knows it: the node in each slot, the spares, and the
// history. A slot is one node's worth of ranks. The slots of a unit form data-parallel replicas
// that cannot run without each other. The slots of a stage do the same work on different data.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/recovery/messages.h"

namespace orrery {

struct JobShape {
    std::uint32_t slots = 1;
    std::uint32_t units = 1;   // data-parallel parts that the job can drop
    std::uint32_t stages = 1;  // pipeline stages; a slot's unit and stage follow by arithmetic
    bool unit_major = true;  // the slots of a unit are consecutive; otherwise the slots of a stage
    std::uint32_t nodes_per_place = 1;  // slots of one unit and stage
    // Over data-parallel ranks: each rank holds a part that no other has
    bool state_sharded = false;

    std::uint32_t unit_of(std::uint32_t slot) const {
        return unit_major ? slot / (slots / units) : slot / nodes_per_place % units;
    }
    std::uint32_t stage_of(std::uint32_t slot) const {
        const std::uint32_t places = slots / units / nodes_per_place;
        const std::uint32_t place = unit_major ? slot % (slots / units) / nodes_per_place
                                               : slot / (units * nodes_per_place);
        return place * stages / places;
    }
    // The slot whose node may compute this slot's work redundantly: the slot of the stage before it
    // in its unit, or of the last stage for the first. The slot itself if there is only one stage.
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
    NodeNumber node = kNoNode;
    Vacancy vacancy = Vacancy::none;
};

struct JobState {
    JobShape shape;
    std::vector<JobSlot> slots;
    std::vector<std::uint32_t> vacancies;  // slots without a node, ascending
    std::vector<std::uint32_t> slot_of_node;
    std::vector<NodeNumber> spares;      // ready nodes; the longest ready is first
    std::vector<std::uint32_t> evicted;  // slots that lost their node in the current incident
    std::vector<std::uint32_t> without;  // slots without a node when the training last began
    std::uint32_t attempt = 0;           // consecutive failures with little training between them
    std::uint32_t incidents = 0;
    WallTime trained;  // sum of the times from training_started to the fault, over all incidents

    JobState(const JobShape& job, std::uint32_t nodes);
    // The number of vacant slots of a kind. A dropped unit counts with each of its slots.
    std::uint32_t vacant(Vacancy kind) const;
    std::vector<std::uint32_t> dropped_units() const;  // ascending
    // The number of slots with a node in this slot's stage.
    std::uint32_t peers(std::uint32_t slot) const;
    void vacate(std::uint32_t slot);
    void place(std::uint32_t slot, NodeNumber node);
};

}  // namespace orrery
