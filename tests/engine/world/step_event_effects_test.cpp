// SPDX-License-Identifier: Apache-2.0
// Events in the middle of a step on random programs: folded and unfolded runs agree to the
// picosecond, op by op, and events that change nothing change nothing. ORRERY_AGREE_SEED=n runs
// only that seed.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "engine/world/simulated_executor.h"
#include "network/fluid/fluid.h"
#include "tests/reference/dice.h"
#include "tests/reference/random_program.h"
#include "tests/reference/trace_difference.h"

namespace orrery::reference {
namespace {

std::uint32_t below(Dice& dice, std::size_t end) {
    return dice.between(0u, static_cast<std::uint32_t>(end - 1));
}

// A network that leads around one link over another one.
class WithDetour final : public NetworkModel {
public:
    WithDetour(const NetworkModel& own, LinkId detour) : own_(own), detour_(detour) {}
    TransferPlan plan(const TransferCall& call, std::span<const RankId> members) const override {
        return own_.plan(call, members);
    }
    std::vector<OtherPath> paths_around(const TransferCall& call,
                                        std::span<const RankId> members,
                                        std::span<const std::uint8_t> down) const override {
        return around(own_.plan(call, members), down);
    }
    std::span<const LinkInfo> links() const override { return own_.links(); }
    std::span<const std::string> link_class_names() const override {
        return own_.link_class_names();
    }
    bool has_contention() const override { return own_.has_contention(); }

private:
    std::vector<OtherPath> around(const TransferPlan& plan,
                                  std::span<const std::uint8_t> down) const {
        std::vector<OtherPath> paths;
        if (plan.phases.size() != 1) {
            return paths;
        }
        for (const TransferPart& part : plan.phases[0].parts) {
            std::vector<LinkShare> shares{{detour_, 1}};
            for (const LinkShare& share : part.footprint) {
                if (down[index(share.link)] == 0 && share.link != detour_) {
                    shares.push_back(share);
                }
            }
            std::sort(shares.begin(), shares.end(), [](const LinkShare& a, const LinkShare& b) {
                return a.link < b.link;
            });
            paths.push_back({part, shares});
        }
        return paths;
    }
    const NetworkModel& own_;
    LinkId detour_;
};

struct Disturbed {
    const RandomCase& random;
    const NetworkModel& network;
    std::vector<DeviceTimings> devices;
    std::vector<std::uint16_t> device_class;
    StepEvents events;

    SimulationOutcome run(bool fold) const {
        SimulationInput input = random.input(fold, true);
        input.network = &network;
        input.devices = devices;
        input.device_class = device_class;
        input.events = events;
        FluidRates rates(network.links());
        return simulate(input, rates);
    }
};

DeviceTimings slower(DeviceTimings timings, std::int64_t factor) {
    for (KernelTime& kernel : timings.kernels) {
        kernel.duration = kernel.duration * factor;
    }
    return timings;
}

// A link that a plan of the program crosses between the ranks.
LinkId some_link(const RandomCase& random, Dice& dice) {
    const std::uint32_t ranks = random.program.num_ranks();
    const auto from = to_id<RankId>(below(dice, ranks));
    const auto to = to_id<RankId>((index(from) + 1 + below(dice, ranks - 1)) % ranks);
    const TransferPlan plan = random.network->plan(SendCall{Bytes{1000}}, std::array{from, to});
    const auto& footprint = plan.phases.at(0).parts.at(0).footprint;
    return footprint[below(dice, footprint.size())].link;
}

Time part_of(Time time, std::int64_t permille) {
    return Time::picoseconds(time.picoseconds() / 1000 * permille);
}

// Which events, by the seed: a slow rank or a lost one, a port, an outage with a detour or without.
void draw(Disturbed& d, Time begin, Time iteration, Dice& dice) {
    const std::uint32_t what = below(dice, 16);
    const auto at = [&] { return begin + part_of(iteration, 1 + below(dice, 900)); };
    if (what % 2 == 1) {
        const std::uint32_t rank = below(dice, d.random.program.num_ranks());
        const auto own = static_cast<std::uint16_t>(d.devices.size());
        const std::uint16_t base = d.device_class[rank];
        d.devices.push_back(d.devices[base]);
        d.devices.push_back(slower(d.devices[base], 2 + below(dice, 3)));
        d.device_class[rank] = own;
        const Time first = at();
        const auto slow = static_cast<std::uint16_t>(own + 1);
        d.events.devices.push_back({first, own, below(dice, 3) == 0 ? kLostDevice : slow});
        if (d.events.devices[0].becomes == slow && below(dice, 2) == 0) {
            d.events.devices.push_back(
                {first + part_of(iteration, 1 + below(dice, 400)), own, own});
        }
    }
    if (what / 2 % 2 == 1) {
        const LinkId link = some_link(d.random, dice);
        const std::int64_t full = d.network.links()[index(link)].capacity.bits_per_second();
        d.events.capacities.push_back({at(), link, Bandwidth::bits_per_second(full / 3)});
    }
    if (what / 4 % 2 == 1) {
        const Time begins = at();
        const Time lasts = part_of(iteration, 1 + below(dice, 200));
        LinkOutages& outages = d.events.outages;
        outages.list = {{.at = begins,
                         .end = below(dice, 3) == 0 ? Time::max() : begins + lasts,
                         .links = {some_link(d.random, dice)}}};
        outages.convergence = part_of(iteration, 1 + below(dice, 100));
        outages.timer = Time::picoseconds(1) + part_of(iteration, below(dice, 60));
        for (std::uint32_t more = below(dice, 3); more > 0; --more) {
            const Time again = at();
            outages.list.push_back({.at = again,
                                    .end = again + part_of(iteration, 1 + below(dice, 200)),
                                    .links = {some_link(d.random, dice)}});
        }
    }
}

bool agree(const Disturbed& neighbours, const std::string& name) {
    SCOPED_TRACE(name);
    const SimulationOutcome folded = neighbours.run(true);
    const SimulationOutcome unfolded = neighbours.run(false);
    EXPECT_TRUE(folded.has_value()) << folded.error().to_string();
    EXPECT_TRUE(unfolded.has_value()) << unfolded.error().to_string();
    if (!folded || !unfolded) {
        return false;
    }
    EXPECT_EQ(first_difference(unfolded->trace, folded->trace), "");
    EXPECT_EQ(folded->step_end, unfolded->step_end);
    EXPECT_EQ(folded->hang.has_value(), unfolded->hang.has_value());
    if (folded->hang && unfolded->hang) {
        EXPECT_EQ(folded->hang->lost, unfolded->hang->lost);
        EXPECT_EQ(folded->hang->since, unfolded->hang->since);
    }
    return !testing::Test::HasFailure();
}

TEST(ExecutionEvents, AreTheSameFoldedAndUnfolded) {
    const char* only = std::getenv("ORRERY_AGREE_SEED");
    std::uint32_t hung = 0;
    std::uint32_t longer = 0;
    std::uint32_t folds = 0;
    for (std::uint64_t seed = 1; seed <= 600; ++seed) {
        if (only != nullptr && std::strtoull(only, nullptr, 10) != seed) {
            continue;
        }
        const RandomCase random = random_case({.seed = seed,
                                               .num_ranks = seed % 3 == 0 ? 32u : 8u,
                                               .steps = static_cast<std::uint32_t>(1 + seed % 2),
                                               .symmetric = seed % 4 != 0});
        if (!random.network->has_contention()) {
            continue;
        }
        Dice dice{seed};
        const WithDetour network{*random.network, some_link(random, dice)};
        Disturbed d{random, network, random.devices, random.device_class, {}};
        if (d.device_class.empty()) {
            d.device_class.assign(random.program.num_ranks(), 0);
        }
        const SimulationOutcome before = d.run(true);
        ASSERT_TRUE(before) << before.error().to_string();
        const auto& ends = before->step_end;
        const Time begin = ends.size() > 1 ? ends[ends.size() - 2] : Time{};
        draw(d, begin, before->iteration, dice);
        if (!agree(d, random.describe())) {
            return;
        }
        const SimulationOutcome after = d.run(true);
        hung += after->hang ? 1 : 0;
        longer += !after->hang && after->iteration > before->iteration ? 1 : 0;
        folds += after->fold_classes < random.program.num_ranks() ? 1 : 0;
    }
    if (only == nullptr) {
        EXPECT_GE(hung, 30u);
        EXPECT_GE(longer, 100u);
        EXPECT_GE(folds, 20u);
    }
}

TEST(ExecutionEvents, ThatChangeNothingChangeNothing) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const RandomCase random = random_case({.seed = seed, .num_ranks = 16});
        Disturbed d{random, *random.network, random.devices, random.device_class, {}};
        if (d.device_class.empty()) {
            d.device_class.assign(random.program.num_ranks(), 0);
        }
        if (!random.network->has_contention()) {
            continue;
        }
        const SimulationOutcome before = d.run(true);
        ASSERT_TRUE(before);
        const auto own = static_cast<std::uint16_t>(d.devices.size());
        d.devices.push_back(d.devices[d.device_class[0]]);
        d.device_class[0] = own;
        d.events.devices = {{part_of(before->step_end.back(), 300), own, own},
                            {part_of(before->step_end.back(), 600), own, own}};
        Dice dice{seed};
        const LinkId link = some_link(random, dice);
        d.events.capacities = {{part_of(before->step_end.back(), 500),
                                link,
                                random.network->links()[index(link)].capacity}};
        const SimulationOutcome after = d.run(true);
        ASSERT_TRUE(after) << after.error().to_string();
        EXPECT_EQ(first_difference(before->trace, after->trace), "") << random.describe();
        EXPECT_EQ(after->step_end, before->step_end);
    }
}

}  // namespace
}  // namespace orrery::reference
