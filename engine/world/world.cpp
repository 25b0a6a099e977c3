// SPDX-License-Identifier: Apache-2.0
#include "engine/world/world.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/program/verifier.h"
#include "engine/world/deadlock.h"
#include "engine/world/execution.h"
#include "engine/world/hang.h"
#include "engine/world/placed_network.h"
#include "engine/world/program_rates.h"

namespace orrery {

namespace {

void check_input(const SimulationInput& input) {
    ORRERY_CHECK(input.program != nullptr && input.network != nullptr);
    ORRERY_CHECK(input.runs.empty() || input.runs.size() == input.program->parties.size());
    ORRERY_CHECK(!input.devices.empty());
    ORRERY_CHECK(input.device_class.empty() ||
                 input.device_class.size() == input.program->num_ranks());
    for (const std::uint16_t device : input.device_class) {
        ORRERY_CHECK(device < input.devices.size());
    }
    for (const DeviceChange& change : input.events.devices) {
        ORRERY_CHECK(change.device < input.devices.size());
        ORRERY_CHECK(change.becomes == kLostDevice || change.becomes < input.devices.size());
    }
    for (const DeviceTimings& device : input.devices) {
        ORRERY_CHECK(device.kernels.size() >= input.program->kernels.size());
    }
}

}  // namespace

// A program and its executor.
struct World::Member {
    Member(std::uint32_t party, const SimulationInput& given, SharedRates& rates)
        : first_party(party), input(given), plan(input, rates), execution(plan, rates) {}
    Member(std::uint32_t party,
           const SimulationInput& given,
           std::vector<RankId> place,
           CommonRates& common)
        : first_party(party),
          input(given),
          network(place.empty()
                      ? nullptr
                      : std::make_unique<PlacedNetwork>(*given.network, std::move(place))),
          own_rates(std::make_unique<ProgramRates>(common)),
          plan(placed_input(), *own_rates, false),
          execution(plan, *own_rates) {}

    const SimulationInput& placed_input() {
        input.network = network ? network.get() : input.network;
        return input;
    }
    std::uint32_t num_parties() const {
        return static_cast<std::uint32_t>(input.program->parties.size());
    }
    bool due(Time now) const { return own_rates->any_ended() || execution.next_time() == now; }

    std::uint32_t first_party;
    SimulationInput input;
    std::unique_ptr<const PlacedNetwork> network;  // null: the input's network
    std::unique_ptr<ProgramRates> own_rates;       // null: the program is alone
    const ExecutionPlan plan;
    Execution execution;
};

Result<std::unique_ptr<World>> World::make(const SimulationInput& input, SharedRates& rates) {
    check_input(input);
    const Errors errors = verify(*input.program);
    if (!errors.empty()) {
        return unexpected(errors.front());
    }
    auto world = std::make_unique<World>(rates);
    world->common_.reset();
    world->members_.push_back(std::make_unique<Member>(0, input, rates));
    world->num_parties_ = world->members_.front()->num_parties();
    return world;
}

World::World(SharedRates& rates) : common_(std::make_unique<CommonRates>(rates)) {}

World::~World() = default;

Result<std::uint32_t> World::add(const SimulationInput& input, std::vector<RankId> place) {
    ORRERY_CHECK(common_ != nullptr && input.events.empty());
    ORRERY_CHECK(place.empty() || place.size() == input.program->num_ranks());
    check_input(input);
    const Errors errors = verify(*input.program);
    if (!errors.empty()) {
        return unexpected(errors.front());
    }
    members_.push_back(std::make_unique<Member>(num_parties_, input, std::move(place), *common_));
    members_.back()->execution.clock.instant = now_;
    return std::exchange(num_parties_, num_parties_ + members_.back()->num_parties());
}

void World::remove(std::uint32_t party) {
    const Member& leaving = member_of(party);
    ORRERY_CHECK(leaving.execution.runs.num_left() == 0 && !leaving.execution.runs.any_ended());
    common_->forget(*leaving.own_rates);
    std::erase_if(members_, [&](const auto& member) { return member.get() == &leaving; });
}

World::Member& World::member_of(std::uint32_t party) const {
    const auto behind = std::ranges::upper_bound(
        members_, party, {}, [](const auto& member) { return member->first_party; });
    ORRERY_CHECK(behind != members_.begin());
    Member& found = **std::prev(behind);
    ORRERY_CHECK(party - found.first_party < found.num_parties());
    return found;
}

void World::start(std::uint32_t party, Time at, std::uint32_t steps) {
    ORRERY_CHECK(at >= now());
    Member& member = member_of(party);
    member.execution.runs.start(party - member.first_party, at, steps);
}

bool World::start_at_barrier(std::uint32_t steps) {
    const ExecutionPlan& alone = plan();
    auto barriers = find_step_barrier(alone.input, alone.tapes, alone.transfers);
    if (barriers) {
        members_.front()->execution.runs.start_at_barrier(0, steps, std::move(*barriers));
    }
    return barriers.has_value();
}

std::optional<RunEnd> World::run_to_next_end(Time limit) {
    if (stuck_) {
        return std::nullopt;
    }
    if (common_ == nullptr) {
        ORRERY_CHECK(limit == Time::max());
        stuck_ = !members_.front()->execution.run_to_next_end();
        return stuck_ ? std::nullopt : take_ended();
    }
    std::optional<RunEnd> end = take_ended();
    while (!end && now_ < limit && (any_left() || limit < Time::max())) {
        advance(limit);
        if (stuck_) {
            return std::nullopt;
        }
        end = take_ended();
    }
    return end;
}

bool World::any_left() const {
    return std::ranges::any_of(
        members_, [](const auto& member) { return member->execution.runs.num_left() > 0; });
}

void World::settle() {
    if (common_->changed()) {
        common_->settle(now_);
        for (const auto& member : members_) {
            member->execution.take_new_rates();
        }
    }
}

// Advances to the next instant at which anything happens, but not beyond `limit`. Programs meet
// only in the rates, so that at one instant they are processed one after the other.
void World::advance(Time limit) {
    const auto starts = [&](const auto& member) {
        return member->execution.runs.next_start() == now_;
    };
    if (std::ranges::none_of(members_, starts)) {
        settle();
        Time event = limit;
        for (const auto& member : members_) {
            event = std::min(event, member->execution.next_time());
        }
        now_ = std::min(event, common_->rates().run_until(event));
        stuck_ = now_ == Time::max();
        if (stuck_) {
            for (const auto& member : members_) {
                member->execution.give_up();
            }
            return;
        }
        if (common_->rates().next_completion() == now_) {
            common_->end_flows(now_);
        }
    }
    for (const auto& member : members_) {
        if (member->due(now_)) {
            member->execution.happen_at(now_);
        }
    }
}

std::optional<RunEnd> World::take_ended() {
    for (const auto& member : members_) {
        if (member->execution.runs.any_ended()) {
            RunEnd end = member->execution.runs.take_ended();
            end.party += member->first_party;
            return end;
        }
    }
    return std::nullopt;
}

Time World::now() const {
    return common_ == nullptr ? members_.front()->execution.clock.instant : now_;
}

const World::Member& World::stuck_member() const {
    const auto found = std::ranges::find_if(
        members_, [](const auto& member) { return member->execution.runs.num_left() > 0; });
    return found == members_.end() ? *members_.front() : **found;
}

std::optional<Hang> World::hang() const {
    return describe_hang(stuck_member().execution);
}

Error World::deadlock() const {
    return describe_deadlock(stuck_member().execution);
}

const ExecutionPlan& World::plan(std::uint32_t party) const {
    return member_of(party).plan;
}

World::Totals World::take_totals(std::uint32_t party) {
    Execution& execution = member_of(party).execution;
    if (!stuck_) {
        execution.make_results();
    }
    Totals totals;
    totals.busy_sum = execution.log.busy;
    for (const RankState& rank : execution.state.ranks) {
        totals.rank_compute.push_back(rank.kernel_time);
    }
    totals.trace = execution.log.take_trace();
    totals.events = execution.clock.num_events;
    return totals;
}

}  // namespace orrery
