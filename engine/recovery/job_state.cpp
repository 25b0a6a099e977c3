// SPDX-License-Identifier: Apache-2.0
#include "engine/recovery/job_state.h"

#include <algorithm>

#include "engine/base/check.h"

namespace orrery {

JobState::JobState(const JobShape& job, std::uint32_t nodes) : shape(job) {
    ORRERY_CHECK(job.slots <= nodes && job.units > 0 && job.slots % job.units == 0);
    slot_of_node.assign(nodes, kNoSlot);
    slots.resize(job.slots);
    for (std::uint32_t i = 0; i < job.slots; ++i) {
        place(i, i);
    }
    for (NodeNumber node = job.slots; node < nodes; ++node) {
        spares.push_back(node);
    }
}

std::uint32_t JobState::vacant(Vacancy kind) const {
    return static_cast<std::uint32_t>(
        std::count_if(vacancies.begin(), vacancies.end(), [&](std::uint32_t slot) {
            return slots[slot].vacancy == kind;
        }));
}

std::vector<std::uint32_t> JobState::dropped_units() const {
    std::vector<std::uint32_t> units;
    for (const std::uint32_t slot : vacancies) {
        if (slots[slot].vacancy == Vacancy::dropped) {
            units.push_back(shape.unit_of(slot));
        }
    }
    std::sort(units.begin(), units.end());
    units.erase(std::unique(units.begin(), units.end()), units.end());
    return units;
}

std::uint32_t JobState::peers(std::uint32_t slot) const {
    const std::uint32_t stage = shape.stage_of(slot);
    const std::uint32_t places = shape.slots / shape.units / shape.nodes_per_place;
    std::uint32_t count = 0;
    for (std::uint32_t place = 0; place < places; ++place) {
        count += place * shape.stages / places == stage ? shape.units * shape.nodes_per_place : 0;
    }
    return count - static_cast<std::uint32_t>(
                       std::count_if(vacancies.begin(), vacancies.end(), [&](std::uint32_t vacant) {
                           return shape.stage_of(vacant) == stage;
                       }));
}

void JobState::vacate(std::uint32_t slot) {
    JobSlot& place = slots[slot];
    if (place.vacancy == Vacancy::none) {
        vacancies.insert(std::lower_bound(vacancies.begin(), vacancies.end(), slot), slot);
    }
    if (place.node != kNoNode) {
        slot_of_node[place.node] = kNoSlot;
    }
    place = {.node = kNoNode, .vacancy = Vacancy::open};
}

void JobState::place(std::uint32_t slot, NodeNumber node) {
    if (slots[slot].vacancy != Vacancy::none) {
        std::erase(vacancies, slot);
    }
    slots[slot] = {.node = node, .vacancy = Vacancy::none};
    slot_of_node[node] = slot;
    std::erase(spares, node);
}

}  // namespace orrery
