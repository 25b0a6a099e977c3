// SPDX-License-Identifier: Apache-2.0
// The simulated executor against the reference, to the picosecond, on pipelines whose stages have
// tensor-parallel sizes of their own: several parties that make one job.
#include <gtest/gtest.h>

#include <random>

#include "engine/world/simulated_executor.h"
#include "models/lowering/lowering.h"
#include "network/fluid/fluid.h"
#include "network/nccl_network.h"
#include "tests/models/drawn_plans.h"
#include "tests/network/dgx_clusters.h"
#include "tests/reference/drawn_accelerations.h"
#include "tests/reference/reference_executor.h"
#include "tests/reference/trace_difference.h"

namespace orrery::reference {
namespace {

using namespace literals;

// Made-up times.
std::vector<DeviceTimings> timings_of(const Program& program, std::uint64_t seed) {
    std::mt19937_64 random{seed};
    DeviceTimings timings{.kernels = {}, .restart = 20_us, .num_sms = 132};
    for (std::size_t k = 0; k < program.kernels.size(); ++k) {
        timings.kernels.push_back(
            {.duration =
                 Time::picoseconds(1'000'000 + static_cast<std::int64_t>(random() % 90'000'000)),
             .ideal = Time{}});
    }
    return {timings};
}

bool draw_sizes(DrawnPlan& drawn) {
    std::mt19937_64 random{drawn.seed};
    drawn.model.tied_embeddings = false;
    std::vector<std::int64_t>& sizes = drawn.plan.stage_tensor_model_parallel_sizes;
    for (std::int64_t s = 0; s < drawn.plan.pipeline_model_parallel_size; ++s) {
        sizes.push_back(std::int64_t{1} << random() % 3);
    }
    drawn.plan.tensor_model_parallel_size = std::ranges::max(sizes);
    const bool alike =
        std::ranges::adjacent_find(sizes, std::ranges::not_equal_to{}) == sizes.end();
    const std::int64_t gpus = drawn.plan.model_parallel_size() * drawn.plan.data_parallel_size;
    return !alike && gpus <= 48 && check(drawn.model, drawn.plan, gpus).empty();
}

TEST(StagePartiesAgree, WithTheReferenceOnDrawnPlans) {
    int compared = 0;
    for (std::uint64_t seed = 1; seed <= 900 && compared < 60; ++seed) {
        DrawnPlan drawn = PlanDrawer{seed}.draw();
        if (!draw_sizes(drawn)) {
            continue;
        }
        ++compared;
        SCOPED_TRACE(drawn.text());
        const Program program = lower(drawn.model, drawn.plan);
        ASSERT_GT(program.parties.size(), 1U);
        const ClusterSpec cluster = ecmp_cluster((program.num_ranks() + 7) / 8, dgx_h100());
        const NcclNetwork network{*build_fabric(cluster), NcclNetworkOptions{.num_sms = 132}};
        SimulationInput input{.program = &program,
                              .network = &network,
                              .devices = timings_of(program, seed),
                              .launch_cost = 5_us,
                              .steps = 1 + static_cast<std::uint32_t>(seed % 2)};
        for (std::uint32_t r = 0; r < program.num_ranks(); ++r) {
            input.traced_ranks.push_back(to_id<RankId>(r));
        }
        const SimulationOutcome expected = reference_simulate(input);
        ASSERT_TRUE(expected) << expected.error().to_string();
        for (const Accelerations& chosen :
             {accelerations_of(0), Accelerations{}, drawn_accelerations(seed, false)}) {
            input.accelerations = chosen;
            FluidRates rates{network.links()};
            const SimulationOutcome actual = simulate(input, rates);
            ASSERT_TRUE(actual) << actual.error().to_string();
            ASSERT_EQ(first_difference(expected->trace, actual->trace), "");
            EXPECT_EQ(actual->step_end, expected->step_end);
            EXPECT_EQ(actual->iteration, expected->iteration);
            EXPECT_EQ(actual->slowest_rank, expected->slowest_rank);
            EXPECT_EQ(actual->simulated_ops, expected->simulated_ops);
            EXPECT_TRUE(actual->parties.empty());  // one job
        }
    }
    EXPECT_EQ(compared, 60);
}

}  // namespace
}  // namespace orrery::reference
