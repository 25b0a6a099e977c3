// SPDX-License-Identifier: Apache-2.0
// What the verifier, a simulation, the memory plan, the operands' check and a trace say of a
// Program, as text.
#pragma once

#include <fmt/format.h>

#include "engine/program/verifier.h"
#include "engine/world/simulated_executor.h"
#include "kernels/cost_model.h"
#include "network/nccl_network.h"
#include "runtime/kernel_operands.h"
#include "runtime/launch_plan.h"
#include "runtime/rank_program.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/report/trace/chakra_export.h"
#include "scenarios/studies/network/network_rates.h"
#include "scenarios/studies/simulate/kernel_timings.h"
#include "scenarios/studies/simulate/program_summary.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {

class ProgramJudge {
public:
    ProgramJudge()
        : scenario_(small_scenario("program", {})),
          curves_(*read_efficiency_table((default_catalogue() / "kernel_efficiency.csv").string())),
          factors_(*read_efficiency_table((default_catalogue() / "step_efficiency.csv").string())),
          network_(*build_fabric(scenario_.cluster),
                   NcclNetworkOptions{.compute_capability = scenario_.device.compute_capability,
                                      .num_sms = scenario_.device.num_sms}) {
        scenario_.device.host_memory_bandwidth = Bandwidth::bits_per_second(800'000'000'000);
    }

    DeviceTimings timings(const Program& program) const {
        const CostModel cost{scenario_.device, curves_};
        const StepEfficiency step{factors_, scenario_.device};
        DeviceTimings timings = time_kernels(program, cost, step, scenario_.device, 1.0);
        timings.restart = Time::picoseconds(7'000'000);
        return timings;
    }

    SimulationInput input(const Program& program) const {
        SimulationInput input;
        input.program = &program;
        input.network = &network_;
        input.devices = {timings(program)};
        input.launch_cost = Time::picoseconds(1'000'000);
        for (std::uint32_t r = 0; r < program.num_ranks(); ++r) {
            input.traced_ranks.push_back(RankId{r});
        }
        return input;
    }

    std::string simulated(const SimulationInput& input) const {
        const auto rates = make_rates(NetworkFidelity::fluid, network_.links());
        const SimulationOutcome result = simulate(input, *rates);
        if (!result) {
            return result.error().to_string();
        }
        std::string text = fmt::format("{} {} {} {}\n",
                                       result->iteration.picoseconds(),
                                       result->fold_classes,
                                       result->simulated_ops,
                                       result->step_end.size());
        for (const Time time : result->critical_path.of) {
            text += fmt::format("{} ", time.picoseconds());
        }
        for (const Time time : result->busy_sum.of) {
            text += fmt::format("{} ", time.picoseconds());
        }
        for (const Time end : result->step_end) {
            text += fmt::format("{} ", end.picoseconds());
        }
        for (const TracedOp& op : result->trace) {
            text += fmt::format("{} {} {} {} {}\n",
                                index(op.rank),
                                op.slot,
                                op.op,
                                op.start.picoseconds(),
                                op.end.picoseconds());
        }
        return text + chakra(*input.program, result->trace);
    }

    std::string simulated(const Program& program) const {
        const Errors errors = verify(program);
        return errors.empty() ? simulated(input(program)) : errors.front().to_string();
    }

    // Memory, collectives, operands, launches and the bytes that they touch.
    std::string examined(const Program& program) const {
        if (const Errors errors = verify(program); !errors.empty()) {
            return errors.front().to_string();
        }
        std::string text;
        const MemoryUse use = memory_use(program, scenario_.device);
        text +=
            fmt::format("{} {} {} {} ", use.peak.count(), use.in_use.count(), use.role, use.moment);
        for (const Bytes bytes : use.of) {
            text += fmt::format("{} ", bytes.count());
        }
        for (const BufferUse& buffer : use.largest) {
            text += fmt::format("{} {} ", buffer.name, buffer.bytes.count());
        }
        for (const CollectiveUse& one : collective_uses(program, network_)) {
            text +=
                fmt::format("{} {} {} {} ", one.name, one.bytes.count(), one.algorithm, one.count);
        }
        if (std::ranges::any_of(program.tensors,
                                [](const Tensor& t) { return t.tier != MemoryTier::hbm; })) {
            return text;  // the real executor knows one tier
        }
        for (const RankId rank : role_representatives(program)) {
            const RankProgram own{program, rank};
            for (std::uint32_t s = 0; s < own.role().slots.size(); ++s) {
                for (const Op& op : program.segment_of(own.role().slots[s]).ops) {
                    text +=
                        op.kind() == OpKind::kernel ? check_kernel_operands(program, rank, op) : "";
                    if (op.kind() == OpKind::kernel) {
                        for (const BoundOperand& read : own.bind_kernel(s, op).reads) {
                            text += fmt::format("{} ", read.view.size);
                        }
                    }
                }
            }
            for (const Launch& launch : plan_launches(own, Walk::step).launches) {
                text += fmt::format("\n{} {} {}:", launch.slot, launch.op, launch.reserved_sms);
                for (const std::uint32_t wait : launch.waits) {
                    text += fmt::format(" {}", wait);
                }
                for (const ArenaUse& arena :
                     arena_uses(own, launch.slot, own.op(launch.slot, launch.op))) {
                    const char* mark = arena.writes ? "w" : "";
                    text += fmt::format(" {}-{}{}", arena.begin, arena.end, mark);
                }
            }
        }
        return text;
    }

    const NcclNetwork& network() const { return network_; }

private:
    static std::string chakra(const Program& program, const std::vector<TracedOp>& trace) {
        ChakraGroups groups;
        std::string text;
        for (std::uint32_t r = 0; r < program.num_ranks(); ++r) {
            std::vector<TracedOp> own;
            for (const TracedOp& op : trace) {
                if (op.rank == RankId{r} && op.step == trace.back().step) {
                    own.push_back(op);
                }
            }
            text += chakra_trace(program, RankId{r}, own, groups);
        }
        return text;
    }

    Scenario scenario_;
    EfficiencyTable curves_;
    EfficiencyTable factors_;
    NcclNetwork network_;
};

inline const ProgramJudge& judge() {
    static const ProgramJudge one;
    return one;
}

}  // namespace orrery
