// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/search.h"

#include <gtest/gtest.h>

#include <set>

#include "scenarios/report/search_report.h"
#include "scenarios/studies/campaign/run_campaign.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

SearchSpec spec_of(const Scenario& scenario) {
    SearchSpec spec;
    spec.clusters = {{.cluster = scenario.cluster, .device = scenario.device}};
    spec.space.micro_batch_size = {1, 2};
    spec.space.context_parallel_size = {1};
    spec.space.recompute = {Recompute::none, Recompute::full};
    spec.space.sharding = {ShardingStrategy::no_shard, ShardingStrategy::optim};
    spec.space.schedules = {ScheduleKind::one_f_one_b, ScheduleKind::interleaved_1f1b};
    spec.space.virtual_pipeline_model_parallel_size = {1, 2};
    spec.space.rank_orders = {RankOrder::tp_cp_dp_pp};
    spec.space.overlap = {true};
    spec.simulations = 10'000;
    spec.keep = 3;
    return spec;
}

// Every plan simulated on the network: the step times, ascending.
std::set<double> exhaustive(const Scenario& scenario, const SearchSpec& spec) {
    std::set<double> times;
    std::map<std::string, std::int64_t> refused;
    Scenario one = scenario;
    for_each_plan(
        spec.space,
        scenario.model,
        scenario.plan,
        {scenario.cluster.num_gpus(), scenario.cluster.node.gpus_per_node},
        [&](const PlanPoint& point) {
            one.plan = point.plan;
            const auto answer = simulate_scenario(one);
            ASSERT_TRUE(answer);
            if (answer->memory.fits) {
                times.insert(answer->iteration.seconds());
            }
        },
        refused);
    return times;
}

TEST(Search, FindsWhatSimulatingEveryPlanFinds) {
    const Scenario scenario = small_scenario("small", {});
    SearchSpec spec = spec_of(scenario);
    // Balanced layouts need the bound's costs; without them both see the same plans.
    spec.space.splits = {StageSplit::even, StageSplit::embedding_loss};
    const auto result = search_plans(scenario, spec);
    ASSERT_TRUE(result) << result.error().to_string();
    const std::set<double> all = exhaustive(scenario, spec);
    ASSERT_GE(all.size(), 20u);
    EXPECT_EQ(result->best.front().answer.iteration.seconds(), *all.begin());
    EXPECT_EQ(result->bound_gap, 0);
    // Fewer simulations than plans, or the bounds would be of no use.
    EXPECT_LT(result->simulated, result->candidates);
    for (const FoundPlan& found : result->best) {
        EXPECT_LE(found.bound, found.objective);
        EXPECT_TRUE(all.contains(found.answer.iteration.seconds()));
    }
}

// Of what is simulated on the network some plans turn out not to fit: each plan counts once.
// Memory of a device on which a plan would fit but for the driver's part.
Bytes too_small_for(const MemoryUse& use) {
    Bytes bytes = use.peak;
    for (const MemoryOverhead& overhead : use.overheads) {
        bytes += overhead.name == "driver" ? Bytes{} : overhead.bytes;
    }
    return bytes;
}

TEST(Search, AccountsForEveryPoint) {
    const Scenario scenario = small_scenario("small", {});
    SearchSpec spec = spec_of(scenario);
    const auto open = search_plans(scenario, spec);
    ASSERT_TRUE(open);
    for (const std::int64_t simulations : {std::int64_t{4}, std::int64_t{10'000}}) {
        for (const bool tight : {false, true}) {
            spec.simulations = simulations;
            spec.clusters[0].device.memory =
                tight ? too_small_for(open->best.front().answer.memory) : scenario.device.memory;
            const auto result = search_plans(scenario, spec);
            ASSERT_TRUE(result) << result.error().to_string();
            EXPECT_EQ(result->points, result->left_out.total() + result->fit) << simulations;
            EXPECT_LE(result->fit, result->simulated);
        }
    }
}

TEST(Search, ComparesTheBestPlanOfEachCluster) {
    const Scenario scenario = small_scenario("small", {});
    SearchSpec spec = spec_of(scenario);
    spec.keep = 2;
    ClusterVariant slow = spec.clusters[0];
    slow.device.peak_fp16 = FlopRate::per_second(slow.device.peak_fp16.per_second() / 4);
    ClusterVariant tiny = spec.clusters[0];
    tiny.device.memory = Bytes{1 << 20};
    spec.clusters.push_back(slow);
    spec.clusters.push_back(tiny);
    const auto result = search_plans(scenario, spec);
    ASSERT_TRUE(result) << result.error().to_string();
    ASSERT_EQ(result->clusters.size(), 3u);
    // As a search on that cluster alone finds.
    for (std::size_t i = 0; i < 2; ++i) {
        SearchSpec alone = spec;
        alone.clusters = {spec.clusters[i]};
        const auto expected = search_plans(scenario, alone);
        ASSERT_TRUE(expected);
        ASSERT_TRUE(result->clusters[i].plan) << i;
        EXPECT_EQ(result->clusters[i].plan->objective, expected->best.front().objective) << i;
        EXPECT_EQ(result->clusters[i].bound_gap, 0) << i;
    }
    EXPECT_FALSE(result->clusters[2].plan);
    EXPECT_EQ(result->clusters[2].unsimulated, 0);
}

TEST(Search, SimulationsThatRunOutAreNotCalledInfeasible) {
    const Scenario scenario = small_scenario("small", {});
    SearchSpec spec = spec_of(scenario);
    spec.simulations = 0;
    const auto result = search_plans(scenario, spec);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().where, "search.simulations");
    EXPECT_NE(result.error().what.find("0 simulated"), std::string::npos) << result.error().what;
    EXPECT_EQ(result.error().what.find("feasible"), std::string::npos) << result.error().what;
}

TEST(Search, CutShortSaysByHowMuchItCouldBeBeaten) {
    const Scenario scenario = small_scenario("small", {});
    SearchSpec spec = spec_of(scenario);
    const auto whole = search_plans(scenario, spec);
    spec.simulations = 3;
    spec.keep = 1;
    const auto cut = search_plans(scenario, spec);
    ASSERT_TRUE(whole && cut);
    const double best = whole->best.front().objective;
    const double found = cut->best.front().objective;
    EXPECT_LE((found - best) / found, cut->bound_gap + 1e-12);
}

// Interrupted after the listing: there is a plan, all points are counted, and the later the
// interruption, the better the plan.
TEST(Search, InterruptedAnswersWithTheBestSoFar) {
    const Scenario scenario = small_scenario("small", {});
    SearchSpec spec = spec_of(scenario);
    spec.keep = 1;
    const auto whole = search_plans(scenario, spec);
    ASSERT_TRUE(whole);
    EXPECT_FALSE(whole->interrupted);
    double before = std::numeric_limits<double>::infinity();
    for (const int questions : {0, 1, 5, 1'000'000}) {
        int asked = 0;
        bool listed = false;
        SearchOptions options;
        options.progress = [&](const SearchProgress&) { listed = true; };
        options.stop = [&] { return listed && asked++ >= questions; };
        const auto found = search_plans(scenario, spec, options);
        ASSERT_TRUE(found) << found.error().to_string();
        EXPECT_EQ(found->interrupted, asked > questions);
        EXPECT_TRUE(found->listed);
        ASSERT_FALSE(found->best.empty());
        EXPECT_LE(found->best.front().objective, before);
        EXPECT_EQ(found->left_out.total() + found->fit, whole->points);
        before = found->best.front().objective;
        const double least = whole->best.front().objective;
        EXPECT_LE((before - least) / before, found->bound_gap + 1e-12);
    }
    EXPECT_EQ(before, whole->best.front().objective);
}

// The first plans that are timed do not fit: the search goes on until one does.
TEST(Search, InterruptedAtOnceStillFindsAPlanThatFits) {
    const Scenario scenario = small_scenario("small", {});
    SearchSpec spec = spec_of(scenario);
    const auto open = search_plans(scenario, spec);
    ASSERT_TRUE(open);
    spec.clusters[0].device.memory = too_small_for(open->best.front().answer.memory);
    bool listed = false;
    SearchOptions options;
    options.progress = [&](const SearchProgress&) { listed = true; };
    options.stop = [&] { return listed; };
    const auto found = search_plans(scenario, spec, options);
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_TRUE(found->interrupted);
    EXPECT_LE(found->best.front().answer.memory.needed(), spec.clusters[0].device.memory);
}

// The plans listed by then compete; each of their points is counted.
TEST(Search, InterruptedInTheListingAnswersWithAListedPlan) {
    const Scenario scenario = small_scenario("small", {});
    const SearchSpec spec = spec_of(scenario);
    const auto whole = search_plans(scenario, spec);
    ASSERT_TRUE(whole);
    int asked = 0;
    const auto found = search_plans(scenario, spec, {.stop = [&] { return asked++ >= 20; }});
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_TRUE(found->interrupted);
    EXPECT_FALSE(found->listed);
    EXPECT_GT(found->points, 0);
    EXPECT_LT(found->points, whole->points);
    EXPECT_EQ(found->left_out.total() + found->fit, found->points);
    EXPECT_EQ(found->simulated, 1);
}

TEST(Search, InterruptedBeforeTheFirstPlanSaysSo) {
    const Scenario scenario = small_scenario("small", {});
    const SearchSpec spec = spec_of(scenario);
    const auto found = search_plans(scenario, spec, {.stop = [] { return true; }});
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().what, "interrupted before a plan was found");
}

TEST(Search, RecommendsNothingWorseThanTheScenariosOwnPlan) {
    Scenario scenario = small_scenario("small",
                                       {"plan.tensor_model_parallel_size=2",
                                        "plan.sequence_parallel=true",
                                        "plan.tp_comm_overlap=true",
                                        "plan.overlap_grad_reduce=true"});
    SearchSpec spec = spec_of(scenario);
    spec.simulations = 1;
    spec.keep = 1;
    const auto result = search_plans(scenario, spec);
    ASSERT_TRUE(result) << result.error().to_string();
    const auto own = simulate_scenario(scenario);
    ASSERT_TRUE(own);
    EXPECT_LE(result->best.front().answer.iteration, own->iteration);
}

TEST(Search, NothingOnTheFrontIsBeatenInTimeAndMemory) {
    const Scenario scenario = small_scenario("small", {});
    const auto result = search_plans(scenario, spec_of(scenario));
    ASSERT_TRUE(result);
    ASSERT_GE(result->pareto.size(), 2u);
    for (const FoundPlan& a : result->pareto) {
        for (const FoundPlan& b : result->pareto) {
            const bool beaten = b.answer.iteration < a.answer.iteration &&
                                b.answer.memory.peak < a.answer.memory.peak;
            EXPECT_FALSE(beaten);
        }
    }
}

TEST(Search, ASpaceWithoutAFeasiblePlanSaysWhichRuleEmptiesIt) {
    const Scenario scenario = small_scenario("small", {});
    SearchSpec spec = spec_of(scenario);
    spec.space.tensor_model_parallel_size = {3};
    const auto result = search_plans(scenario, spec);
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().what.find("sizes do not divide the GPUs"), std::string::npos)
        << result.error().what;

    spec = spec_of(scenario);
    spec.clusters[0].device.memory = Bytes{1 << 20};
    const auto small = search_plans(scenario, spec);
    ASSERT_FALSE(small);
    EXPECT_NE(small.error().what.find("memory"), std::string::npos) << small.error().what;
}

TEST(Search, CostPrefersTheCheaperClusterAndTimeTheFaster) {
    const Scenario scenario = small_scenario("small", {});
    SearchSpec spec = spec_of(scenario);
    ClusterVariant twice = spec.clusters[0];
    spec.clusters[0].price_per_gpu_hour = 2;
    twice.cluster.num_nodes = 4;
    twice.price_per_gpu_hour = 2;
    spec.clusters.push_back(twice);
    const auto fast = search_plans(scenario, spec);
    ASSERT_TRUE(fast);
    EXPECT_EQ(fast->best.front().cluster, 1u);
    spec.objective = Objective::cost;
    const auto cheap = search_plans(scenario, spec);
    ASSERT_TRUE(cheap);
    EXPECT_EQ(cheap->best.front().cluster, 0u);
    // The money of a token: GPUs x hours x price.
    const FoundPlan& best = cheap->best.front();
    EXPECT_NEAR(best.objective,
                8 * 2.0 * best.answer.iteration.seconds() / 3600 / (32.0 * 1024),
                best.objective * 1e-12);
}

TEST(Search, ADeadlineRefusesWhatIsTooSlow) {
    const Scenario scenario = small_scenario("small", {});
    SearchSpec spec = spec_of(scenario);
    const auto open = search_plans(scenario, spec);
    ASSERT_TRUE(open);
    spec.tokens = 1e9;
    const double days =
        open->best.front().answer.iteration.seconds() * 1e9 / (32.0 * 1024) / 86'400;
    spec.deadline_days = days * 1.01;
    const auto enough = search_plans(scenario, spec);
    ASSERT_TRUE(enough);
    EXPECT_EQ(enough->best.front().objective, open->best.front().objective);
    EXPECT_GT(enough->left_out.deadline, 0);
    spec.deadline_days = days * 0.5;
    const auto late = search_plans(scenario, spec);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().where, "search.deadline_days");
    EXPECT_NE(late.error().what.find("take longer than deadline_days"), std::string::npos);
}

TEST(Search, GoodputCountsWhatFaultsTake) {
    Scenario scenario = small_scenario(
        "s", {"faults=[{catalogue: llama-3-405b, scale: 1000}]", "campaign={days: 5, seeds: 4}"});
    SearchSpec spec = spec_of(scenario);
    spec.objective = Objective::goodput;
    const auto found = search_plans(scenario, spec);
    ASSERT_TRUE(found) << found.error().to_string();
    // Every plan's campaign with its own step, one by one.
    double best = 1e300;
    std::map<std::string, std::int64_t> refused;
    for_each_plan(
        spec.space,
        scenario.model,
        scenario.plan,
        {scenario.cluster.num_gpus(), scenario.cluster.node.gpus_per_node},
        [&](const PlanPoint& point) {
            Scenario one = scenario;
            one.plan = point.plan;
            const auto answer = simulate_scenario(one);
            ASSERT_TRUE(answer);
            if (!answer->memory.fits) {
                return;
            }
            one.campaign.step_time = WallTime::seconds(answer->iteration.seconds());
            const auto campaign = run_campaign_scenario(one);
            ASSERT_TRUE(campaign);
            best = std::min(best, answer->iteration.seconds() / campaign->plans[0].goodput.mean);
        },
        refused);
    EXPECT_NEAR(found->best.front().objective, best, 1e-9 * best);
    EXPECT_LT(found->best.front().goodput, 1);
    scenario.faults.processes.clear();
    const auto without = search_plans(scenario, spec);
    ASSERT_FALSE(without);
    EXPECT_NE(without.error().what.find("needs faults"), std::string::npos);
}

// Plans that fold and that do not, several clusters, simulations that suffice and that run out.
TEST(Search, TheBytesDoNotDependOnTheNumberOfJobs) {
    Scenario scenario = small_scenario("small", {});
    SearchSpec spec = spec_of(scenario);
    spec.space.sharding = {ShardingStrategy::optim, ShardingStrategy::optim_grads_params};
    spec.clusters[0].label = "nodes 2";
    spec.clusters.push_back(spec.clusters[0]);
    spec.clusters[1].label = "nodes 1";
    spec.clusters[1].cluster.num_nodes = 1;
    for (const std::int64_t simulations :
         {std::int64_t{3}, std::int64_t{12}, std::int64_t{10'000}}) {
        spec.simulations = simulations;
        scenario.search = spec;
        const auto printed = [&](std::uint32_t jobs) {
            const auto result = search_plans(scenario, spec, {.jobs = jobs});
            EXPECT_TRUE(result);
            const auto figures = sensitivity(scenario, spec, *result, {.jobs = jobs});
            EXPECT_TRUE(figures);
            return search_json(scenario, *result, *figures);
        };
        const std::string one = printed(1);
        EXPECT_EQ(one, printed(4)) << simulations;
        EXPECT_EQ(one, printed(3)) << simulations;
    }
}

TEST(Search, PlansThatAreCloserThanPredictionsAreEqual) {
    SearchResult result;
    EXPECT_EQ(equal_plans(result), 0U);
    for (const double objective : {10.0, 10.5, 10.6, 11.0}) {
        result.best.emplace_back();
        result.best.back().objective = objective;
    }
    EXPECT_EQ(equal_plans(result), 2U);
}

}  // namespace
}  // namespace orrery
