// SPDX-License-Identifier: Apache-2.0
// Every field of a simulation's input changes its result or its trace.
#include "models/experts/routed_step.h"
#include "models/lowering/lowering.h"
#include "tests/fields/field_rows.h"
#include "tests/fields/program_judge.h"

namespace orrery {
namespace simulation_input_fields_test {

Program lowered(const char* strategy) {
    const Scenario scenario =
        small_scenario("input",
                       {"plan.pipeline_model_parallel_size=2",
                        "plan.tensor_model_parallel_size=2",
                        std::string{"plan.data_parallel_sharding_strategy="} + strategy,
                        "plan.global_batch_size=8",
                        "model.num_layers=2"});
    return lower(scenario.model, scenario.plan);
}

// All ranks meet in the norm of the gradients.
const Program& small_program() {
    static const Program program = lowered("optim");
    return program;
}

// Two ranks share four experts, whose rows differ.
struct StepWithExperts {
    StepWithExperts() {
        const Scenario scenario = small_scenario("input",
                                                 {"model.num_layers=2",
                                                  "model.num_experts=4",
                                                  "model.moe_router_topk=2",
                                                  "plan.expert_model_parallel_size=2",
                                                  "plan.moe_router_load=uniform",
                                                  "plan.global_batch_size=16"});
        std::vector<RoutedTensor> tensors;
        program = lower(scenario.model, scenario.plan, tensors);
        routed = *route_step(scenario.model, scenario.plan, program, tensors);
    }

    SimulationInput input() const {
        SimulationInput in = judge().input(program);
        in.devices[0].kernels.resize(program.kernels.size() + routed.kernels.size(),
                                     {.duration = Time::picoseconds(77'000'000)});
        return in;
    }

    Program program;
    RoutedStep routed;
};

using InputRow = FieldRow<SimulationInput>;

const FieldAnswers<SimulationInput> kAnswers{
    [](const SimulationInput& input) { return judge().simulated(input); }};

TEST(SimulationInputFields, ChangeItsResult) {
    static const Program changed = [] {
        Program program = small_program();
        program.kernels[0].bytes *= 64;
        return program;
    }();
    static const NcclNetwork other{*build_fabric(small_scenario("program", {}).cluster),
                                   NcclNetworkOptions{.compute_capability = 70, .num_sms = 80}};
    static const Program alike = lowered("no_shard");  // its ranks fold
    static const StepWithExperts uneven;
    const InputRow rows[] = {
        {"program", [](SimulationInput& in) { in.program = &changed; }},
        {"network", [](SimulationInput& in) { in.network = &other; }},
        {"devices", [](SimulationInput& in) { in.devices[0].num_sms = 0; }},
        {"device_class",
         [](SimulationInput& in) {
             in.device_class = {0, 1, 0, 0, 0, 0, 0, 0};
         },
         [](SimulationInput& in) {
             in.devices.push_back(in.devices[0]);
             for (KernelTime& time : in.devices[1].kernels) {
                 time.duration = time.duration * 2;
             }
         }},
        {"load",
         [](SimulationInput& in) { in.load = &uneven.routed.load; },
         [](SimulationInput& in) { in = uneven.input(); }},
        {"launch_cost", [](SimulationInput& in) { in.launch_cost = Time{}; }},
        {"in_program_order", [](SimulationInput& in) { in.in_program_order = true; }},
        {"steps", [](SimulationInput& in) { in.steps = 3; }},
        {"runs", [](SimulationInput& in) { in.runs = {{.steps = 3}}; }},
        {"accelerations",
         [](SimulationInput& in) { in.accelerations.fold(false); },
         [](SimulationInput& in) { in = judge().input(alike); }},
        {"traced_ranks", [](SimulationInput& in) { in.traced_ranks.pop_back(); }},
        {"events",
         [](SimulationInput& in) {
             in.events.devices = {{.at = Time::picoseconds(1000), .device = 0, .becomes = 1}};
         },
         [](SimulationInput& in) {
             in.accelerations.step_barrier = false;
             in.devices.push_back(in.devices[0]);
             in.devices[1].kernels.back().duration += Time::picoseconds(1'000'000);
             for (KernelTime& time : in.devices[1].kernels) {
                 time.duration = time.duration * 2;
             }
         }},
        {"progress",
         [](SimulationInput& in) { in.progress = [](double) {}; },
         {},
         "it is called, and asks nothing"},
    };
    expect_effects<SimulationInput>(rows, judge().input(small_program()), kAnswers);
}

TEST(SimulationInputFields, OfAccelerationsChangeNothingThatHappens) {
    static const Program alike = lowered("no_shard");  // its ranks fold
    constexpr std::string_view kFaster = "faster to the same result: accelerations_agree_test.cpp";
    const InputRow of_accelerations[] = {
        {"folding",
         [](SimulationInput& in) { in.accelerations.folding = false; },
         [](SimulationInput& in) { in = judge().input(alike); }},  // fewer fold classes
        {"lockstep_groups",
         [](SimulationInput& in) { in.accelerations.lockstep_groups = false; },
         {},
         kFaster},
        {"bundles", [](SimulationInput& in) { in.accelerations.bundles = false; }, {}, kFaster},
        {"joined_flows",
         [](SimulationInput& in) { in.accelerations.joined_flows = false; },
         {},
         kFaster},
        {"exclusive_connections",
         [](SimulationInput& in) { in.accelerations.exclusive_connections = false; },
         {},
         kFaster},
        {"local_clocks",
         [](SimulationInput& in) { in.accelerations.local_clocks = false; },
         {},
         kFaster},
        {"step_barrier",  // the origin of times
         [](SimulationInput& in) { in.accelerations.step_barrier = false; },
         [](SimulationInput& in) {
             in.steps = 4;
             in.launch_cost = Time{};  // so that the steps meet at a barrier
         }},
    };
    expect_effects<Accelerations>(of_accelerations, judge().input(small_program()), kAnswers);
}

TEST(SimulationInputFields, OfRunsChangeItsResult) {
    SimulationInput base = judge().input(small_program());
    base.runs = {{.start = Time{}, .steps = 2, .launch_cost = Time{}}};
    const InputRow of_runs[] = {
        {"start",
         [](SimulationInput& in) { in.runs[0].start = Time::picoseconds(1000); },
         [](SimulationInput& in) { in.accelerations.step_barrier = false; }},
        {"steps", [](SimulationInput& in) { in.runs[0].steps = 3; }},
        {"launch_cost",
         [](SimulationInput& in) { in.runs[0].launch_cost = Time::picoseconds(20'000'000); }},
    };
    expect_effects<PartyRun>(of_runs, base, kAnswers);
}

TEST(SimulationInputFields, OfKernelTimesChangeItsResult) {
    const auto times = [](SimulationInput& in) -> KernelTime& { return in.devices[0].kernels[0]; };
    const InputRow of_kernels[] = {
        {"duration",
         [&](SimulationInput& in) { times(in).duration += Time::picoseconds(1'000'000); }},
        {"ideal",
         [](SimulationInput& in) {
             for (KernelTime& time : in.devices[0].kernels) {
                 time.ideal = Time{};
             }
         }},
        {"source",
         [&](SimulationInput& in) { times(in).source = CostSource::measured; },
         {},
         "the answer's shares of sources: kernel_timings.h, not the executor"},
        {"relative_sigma",
         [&](SimulationInput& in) { times(in).relative_sigma = 0.5; },
         {},
         "the answer's uncertainty: kernel_timings.h, not the executor"},
        {"distance_sigma",
         [&](SimulationInput& in) { times(in).distance_sigma = 0.5; },
         {},
         "the answer's uncertainty: kernel_timings.h, not the executor"},
        {"sm_sensitivity_permille",
         [](SimulationInput& in) {
             for (KernelTime& time : in.devices[0].kernels) {
                 time.sm_sensitivity_permille = 0;
             }
         }},
        {"persistent",
         [](SimulationInput& in) {
             for (KernelTime& time : in.devices[0].kernels) {
                 time.persistent = true;
             }
         }},
    };
    expect_effects<KernelTime>(of_kernels, judge().input(small_program()), kAnswers);
}

TEST(SimulationInputFields, OfDevicesChangeItsResult) {
    const InputRow of_devices[] = {
        {"kernels", [](SimulationInput& in) { in.devices[0].kernels[0].duration = Time{}; }},
        {"restart", [](SimulationInput& in) { in.devices[0].restart = Time{}; }},
        {"num_sms", [](SimulationInput& in) { in.devices[0].num_sms = 0; }},
        {"communication_queues",
         [](SimulationInput& in) { in.devices[0].communication_queues = true; }},
    };
    expect_effects<DeviceTimings>(of_devices, judge().input(small_program()), kAnswers);
}

}  // namespace simulation_input_fields_test
}  // namespace orrery
