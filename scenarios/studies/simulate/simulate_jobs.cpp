// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/simulate_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "engine/program/merged_program.h"
#include "engine/world/simulated_executor.h"
#include "models/lowering/lowering.h"
#include "network/fabric/fabric_remarks.h"
#include "scenarios/format/provenance/version.h"
#include "scenarios/format/specs/node_devices.h"
#include "scenarios/studies/network/link_use.h"
#include "scenarios/studies/network/network_rates.h"
#include "scenarios/studies/simulate/program_order.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "scenarios/studies/simulate/step_costs.h"
#include "scenarios/studies/simulate/step_faults.h"
#include "scenarios/studies/simulate/step_network.h"

namespace orrery {
namespace {

// Bound on the steps of a short job beside a long one.
constexpr std::uint32_t kStepsMax = 2000;
// Contention lengthens steps, so the numbers of steps are adjusted in rounds.
constexpr int kRoundsMax = 4;

class JobsRun {
public:
    JobsRun(const Scenario& scenario, const JobsOptions& options)
        : scenario_(scenario), options_(options) {}

    Result<JobsAnswer> run() {
        const auto started = std::chrono::steady_clock::now();
        if (const Result<void> ready = prepare(); !ready) {
            return tl::unexpected(ready.error());
        }
        choose_steps();
        for (int round = 0;; ++round) {
            SimulationOutcome result = execute();
            if (!result) {
                return tl::unexpected(result.error());
            }
            const bool enough = !add_steps(*result);
            if (enough || round + 1 == kRoundsMax) {
                describe(*result);
                break;
            }
        }
        answer_.wall_s =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
        return std::move(answer_);
    }

private:
    Result<void> prepare() {
        if (runs_in_program_order(scenario_.device)) {
            return fail("jobs",
                        fmt::format("devices without streams ({}) run one job at a time",
                                    scenario_.device.name),
                        "GPUs");
        }
        Scenario all = scenario_;
        std::vector<ProgramToMerge> to_merge;
        programs_.reserve(scenario_.jobs.size());
        for (const ClusterJob& job : scenario_.jobs) {
            const Scenario& own = *job.scenario;
            all.cluster.gpu_of_rank.insert(all.cluster.gpu_of_rank.end(),
                                           own.cluster.gpu_of_rank.begin(),
                                           own.cluster.gpu_of_rank.end());
            if (const Result<void> alone = run_alone(job); !alone) {
                return alone;
            }
            programs_.push_back(lower(own.model, own.plan));
            to_merge.push_back({own.name, &programs_.back()});
        }
        program_ = merge_programs(to_merge);
        if (const Result<void> costed = cost_jobs(); !costed) {
            return costed;
        }
        Result<StepNetwork> network = build_step_network(all, {}, {});
        if (!network) {
            return tl::unexpected(network.error());
        }
        network_ = std::move(*network);
        if (network_.packets) {
            return fail("network",
                        "several jobs share links at fidelities fluid, simgrid and analytic",
                        "network: fluid");
        }
        return {};
    }

    Result<void> run_alone(const ClusterJob& job) {
        SimulationOptions options;
        options.fold = options_.fold;
        Result<Answer> alone = simulate_scenario(*job.scenario, options);
        if (!alone) {
            return tl::unexpected(alone.error());
        }
        answer_.jobs.push_back(
            {.name = job.scenario->name, .alone = std::move(*alone), .start = job.start});
        return {};
    }

    // Each job has its own devices, which know only the times of the job's kernels.
    Result<void> cost_jobs() {
        std::size_t first = 0;
        for (std::size_t j = 0; j < programs_.size(); ++j) {
            const Scenario& own = *scenario_.jobs[j].scenario;
            const Program& program = programs_[j];
            const Result<StepCosts> costs = step_costs(program, own, {}, {});
            if (!costs) {
                return tl::unexpected(costs.error());
            }
            const DeviceClasses classes =
                device_classes({}, own, costs->devices, program.num_ranks());
            const auto base = static_cast<std::uint16_t>(devices_.size());
            for (const DeviceTimings& device : classes.devices) {
                DeviceTimings wider = device;
                wider.kernels.assign(program_.kernels.size(), KernelTime{});
                std::ranges::copy(device.kernels,
                                  wider.kernels.begin() + static_cast<std::ptrdiff_t>(first));
                devices_.push_back(std::move(wider));
            }
            for (std::uint32_t r = 0; r < program.num_ranks(); ++r) {
                const std::uint16_t device = classes.of_rank.empty() ? 0 : classes.of_rank[r];
                device_class_.push_back(static_cast<std::uint16_t>(base + device));
            }
            runs_.push_back({.start = scenario_.jobs[j].start,
                             .steps = std::max(2U, scenario_.job.steps),
                             .launch_cost = costs->launch});
            first += program.kernels.size();
        }
        return {};
    }

    // Chooses the number of steps by which every job still runs when the last one ends, if each ran
    // alone.
    void choose_steps() {
        Time until;
        for (std::size_t j = 0; j < runs_.size(); ++j) {
            until = std::max(until,
                             runs_[j].start + answer_.jobs[j].alone.iteration *
                                                  static_cast<std::int64_t>(runs_[j].steps));
        }
        for (std::size_t j = 0; j < runs_.size(); ++j) {
            run_until(until, answer_.jobs[j].alone.iteration, runs_[j]);
        }
    }

    static void run_until(Time until, Time iteration, PartyRun& run) {
        const double left = (until - run.start) / iteration;
        const auto steps =
            static_cast<std::uint32_t>(std::clamp(left + 1, 1.0, static_cast<double>(kStepsMax)));
        run.steps = std::max(run.steps, steps);
    }

    // Adds steps to the jobs that end before the measured steps of all jobs. Measured are job.steps
    // - 1 steps of each job, from the first step that begins after the job's first one while all
    // jobs run. Whether any job got more steps.
    bool add_steps(const SimulationResult& result) {
        Time from;
        for (const PartyRun& run : runs_) {
            from = std::max(from, run.start);
        }
        Time until;
        for (std::size_t p = 0; p < runs_.size(); ++p) {
            const std::vector<Time>& ends = steps_of(result, p).step_end;
            std::size_t step = 1;
            while (step < ends.size() && ends[step - 1] < from) {
                ++step;
            }
            step += std::max(2U, scenario_.job.steps) - 2;
            const Time later = mean_of(p, ends) * (static_cast<std::int64_t>(step + 1) -
                                                   static_cast<std::int64_t>(ends.size()));
            until = std::max(until, step < ends.size() ? ends[step] : ends.back() + later);
        }
        bool added = false;
        for (std::size_t p = 0; p < runs_.size(); ++p) {
            const std::vector<Time>& ends = steps_of(result, p).step_end;
            if (ends.back() < until && runs_[p].steps < kStepsMax) {
                const std::uint32_t before = runs_[p].steps;
                run_until(until, mean_of(p, ends), runs_[p]);
                runs_[p].steps = std::max(runs_[p].steps, before + 1);
                added = true;
            }
        }
        return added;
    }

    Time mean_of(std::size_t p, const std::vector<Time>& ends) const {
        return mean_of(ends.back() - runs_[p].start, ends.size());
    }

    SimulationOutcome execute() const {
        SimulationInput input;
        input.program = &program_;
        input.network = network_.nccl.get();
        input.devices = devices_;
        input.device_class = device_class_;
        input.runs = runs_;
        input.accelerations.fold(options_.fold);
        input.progress = options_.progress;
        const auto fidelity =
            network_.nccl->has_contention() ? scenario_.network : NetworkFidelity::analytic;
        const auto rates = make_rates(fidelity, network_.nccl->links());
        return simulate(input, *rates);
    }

    struct Steps {
        const std::vector<Time>& step_end;
        const CauseTimes& critical_path;
        const std::vector<Bytes>& link_bytes;
    };
    // A single job has no parties (engine/world/simulation.h).
    static Steps steps_of(const SimulationResult& result, std::size_t p) {
        if (result.parties.empty()) {
            return {result.step_end, result.critical_path, result.link_bytes};
        }
        const PartySteps& steps = result.parties[p];
        return {steps.step_end, steps.critical_path, steps.link_bytes};
    }

    void describe(const SimulationResult& result) {
        answer_.scenario = scenario_.name;
        answer_.device = device_names(scenario_);
        answer_.cluster = words_of(scenario_.cluster);
        answer_.cluster +=
            scenario_.cluster.num_nodes > 1 ? ", " + scenario_.cluster.fabric.name : "";
        answer_.network_model = name(scenario_.network);
        answer_.remarks = fabric_remarks(scenario_.cluster);
        answer_.ranks = program_.num_ranks();
        answer_.seed = scenario_.job.seed;
        answer_.simulated_ops = result.simulated_ops;
        answer_.fold_classes = result.fold_classes;
        answer_.flows = result.flows;
        answer_.version = kVersion;
        // The time in which all jobs run.
        Time from;
        Time until = Time::max();
        for (std::size_t j = 0; j < runs_.size(); ++j) {
            from = std::max(from, runs_[j].start);
            until = std::min(until, steps_of(result, j).step_end.back());
        }
        for (std::size_t j = 0; j < runs_.size(); ++j) {
            JobAnswer& job = answer_.jobs[j];
            const Steps steps = steps_of(result, j);
            job.steps = steps.step_end;
            job.end = job.steps.back();
            job.critical_path = steps.critical_path;
            job.iteration = mean_period(job.steps, from, until);
            for (const std::string& remark : job.alone.remarks) {
                if (std::ranges::find(answer_.remarks, remark) == answer_.remarks.end()) {
                    answer_.remarks.push_back(remark);
                }
            }
        }
        share_links(result);
    }

    // Mean duration of the steps between two times, without the first step. If there is none, the
    // last step's.
    static Time mean_period(const std::vector<Time>& ends, Time from, Time until) {
        Time sum;
        std::size_t count = 0;
        for (std::size_t step = 1; step < ends.size(); ++step) {
            if (ends[step - 1] >= from && ends[step] <= until) {
                sum += ends[step] - ends[step - 1];
                ++count;
            }
        }
        return count > 0 ? mean_of(sum, count) : ends.back() - ends[ends.size() - 2];
    }

    static Time mean_of(Time sum, std::size_t count) {
        return Time::picoseconds(sum.picoseconds() / static_cast<std::int64_t>(count));
    }

    void share_links(const SimulationResult& result) {
        const Fabric& fabric = network_.nccl->fabric();
        const auto names = fabric.link_class_names();
        const auto links = fabric.links();
        std::vector<SharedLinks> classes(names.size());
        std::vector<double> most(names.size(), 0.0);
        std::vector<double> all(links.size(), 0.0);
        for (std::size_t l = 0; l < links.size(); ++l) {
            std::vector<double> use;
            double sum = 0;
            int users = 0;
            for (std::size_t j = 0; j < answer_.jobs.size(); ++j) {
                use.push_back(utilisation(links[l].capacity,
                                          steps_of(result, j).link_bytes[l].count(),
                                          answer_.jobs[j].iteration));
                sum += use.back();
                users += use.back() > 0 ? 1 : 0;
            }
            all[l] = sum;
            SharedLinks& of_class = classes[links[l].link_class];
            of_class.used += users > 0 ? 1 : 0;
            of_class.shared += users > 1 ? 1 : 0;
            if (users > 1 && sum > most[links[l].link_class]) {
                most[links[l].link_class] = sum;
                of_class.busiest = fabric.link_name(to_id<LinkId>(l));
                of_class.of_busiest = std::move(use);
            }
        }
        for (std::size_t c = 0; c < classes.size(); ++c) {
            if (classes[c].used > 0) {
                classes[c].link_class = names[c];
                answer_.links.push_back(std::move(classes[c]));
            }
        }
        add_heat(fabric, all);
    }

    // Converts utilisations to bytes in one second.
    void add_heat(const Fabric& fabric, const std::vector<double>& utilisations) {
        std::vector<std::int64_t> bytes;
        for (std::size_t l = 0; l < utilisations.size(); ++l) {
            const auto capacity =
                static_cast<double>(fabric.links()[l].capacity.bits_per_second()) / 8;
            bytes.push_back(static_cast<std::int64_t>(utilisations[l] * capacity));
        }
        answer_.heat =
            heat_by_class(fabric, bytes, Time::picoseconds(1'000'000'000'000), kHeatCells);
    }

    const Scenario& scenario_;
    const JobsOptions& options_;
    std::vector<Program> programs_;  // by job
    Program program_;
    StepNetwork network_;
    std::vector<DeviceTimings> devices_;
    std::vector<std::uint16_t> device_class_;
    std::vector<PartyRun> runs_;
    JobsAnswer answer_;
};

}  // namespace

Result<JobsAnswer> simulate_jobs(const Scenario& scenario, const JobsOptions& options) {
    return JobsRun{scenario, options}.run();
}

}  // namespace orrery
