// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/simulate_scenario.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <numbers>
#include <optional>

#include "engine/world/simulated_executor.h"
#include "models/experts/routed_step.h"
#include "models/lowering/lowering.h"
#include "models/memory/memory_plan.h"
#include "models/plan/flops.h"
#include "network/fabric/fabric_remarks.h"
#include "network/measured_network.h"
#include "scenarios/format/document/quantity.h"
#include "scenarios/format/document/wall_time_text.h"
#include "scenarios/format/provenance/version.h"
#include "scenarios/format/specs/network_words.h"
#include "scenarios/format/specs/node_devices.h"
#include "scenarios/studies/network/link_use.h"
#include "scenarios/studies/network/network_rates.h"
#include "scenarios/studies/simulate/assumed_settings.h"
#include "scenarios/studies/simulate/calibrated_network.h"
#include "scenarios/studies/simulate/measured_costs.h"
#include "scenarios/studies/simulate/memory_overheads.h"
#include "scenarios/studies/simulate/packet_step.h"
#include "scenarios/studies/simulate/program_order.h"
#include "scenarios/studies/simulate/program_summary.h"
#include "scenarios/studies/simulate/step_costs.h"
#include "scenarios/studies/simulate/step_disturbances.h"
#include "scenarios/studies/simulate/step_faults.h"
#include "scenarios/studies/simulate/step_network.h"
#include "scenarios/studies/simulate/step_waits.h"
#include "scenarios/studies/simulate/waterfall.h"
#include "scenarios/studies/simulate/what_if.h"

namespace orrery {
namespace {

class ScenarioRun {
public:
    ScenarioRun(const Scenario& scenario, const SimulationOptions& options)
        : scenario_(scenario), options_(options) {}

    Result<Answer> run();

private:
    Result<void> prepare();
    Result<void> measure();
    void run_in_program_order();
    void use_measured_network(Time per_op);
    SimulationOutcome execute(std::vector<RankId> traced);
    Result<void> disturb();
    std::vector<RankId> traced_ranks() const;
    Result<void> hand_over_trace(const SimulationResult& first);
    void describe(Answer& answer) const;
    Result<MemoryUse> memory() const;
    void speed(const SimulationResult& result, Answer& answer) const;
    void explain(const SimulationResult& result, Answer& answer) const;
    Result<void> compare_with_healthy(Answer& answer) const;

    const Scenario& scenario_;
    const SimulationOptions& options_;
    Program program_;
    StepNetwork step_network_;
    std::unique_ptr<CalibratedNetwork> calibrated_network_;
    std::unique_ptr<MeasuredNetwork> measured_network_;
    std::size_t profile_transfers_ = 0;
    const NetworkModel* network_ = nullptr;  // the outermost of the networks above
    std::optional<PacketWindowUse> packets_;
    MeasuredCosts measured_;
    std::vector<RoutedTensor> tensors_;
    std::optional<RoutedStep> routed_;  // if data determine the work of each rank
    StepCosts costs_;
    Time host_per_op_;  // included in each op's time if the host works between the ops
    Time host_step_;    // at the end of every step
    std::vector<FaultEvent> faults_;
    // With faults in the middle of a step: the simulation without them, and the begin of the step.
    std::optional<SimulationResult> undisturbed_;
    Time begin_;
};

Result<void> ScenarioRun::prepare() {
    program_ = lower(scenario_.model, scenario_.plan, tensors_);
    if (options_.without) {
        program_ = program_without(program_, *options_.without);
    }
    routed_ = route_step(scenario_.model, scenario_.plan, program_, tensors_);
    faults_ = step_faults(scenario_);
    Result<StepNetwork> network = build_step_network(scenario_, faults_, options_.without);
    if (!network) {
        return tl::unexpected(network.error());
    }
    step_network_ = std::move(*network);
    network_ = &step_network_.model();
    if (const Result<void> known = measure(); !known) {
        return known;
    }
    Result<StepCosts> costs =
        step_costs(program_,
                   scenario_,
                   measured_.kernels,
                   {.step_table = options_.step_table,
                    .loaded = routed_ ? routed_->kernels : std::span<const KernelCall>{},
                    .without = options_.without});
    if (!costs) {
        return tl::unexpected(costs.error());
    }
    costs_ = std::move(*costs);
    host_step_ = costs_.step;
    if (costs_.communication != 1) {
        calibrated_network_ = std::make_unique<CalibratedNetwork>(*network_, costs_.communication);
        network_ = calibrated_network_.get();
    }
    if (runs_in_program_order(scenario_.device)) {
        if (const Result<void> one = check_one_kind(scenario_, "a CPU without streams"); !one) {
            return one;
        }
        run_in_program_order();
    } else if (const Time per_op = block_launches(program_, scenario_.plan, costs_);
               per_op > Time{} || !measured_.transfers.empty()) {
        use_measured_network(per_op);
    }
    if (options_.without) {
        for (DeviceTimings& device : costs_.devices) {
            remove_kernel_time(program_, *options_.without, device);
            if (routed_) {
                remove_kernel_time(*routed_, *options_.without, device);
            }
            device.num_sms = *options_.without == Cause::interference ? 0 : device.num_sms;
        }
        const bool no_launch = *options_.without == Cause::launch;
        host_step_ = no_launch ? Time{} : host_step_;
    }
    return {};
}

// Reads the profile. Its times of collectives go into the network.
Result<void> ScenarioRun::measure() {
    if (options_.profile_file.empty()) {
        return {};
    }
    if (const Result<void> one = check_one_kind(scenario_, "a profile"); !one) {
        return one;
    }
    const auto profile = read_machine_profile(options_.profile_file);
    if (!profile) {
        return tl::unexpected(profile.error().front());
    }
    const std::uint32_t ranks =
        std::min(program_.num_ranks(), scenario_.cluster.node.gpus_per_node);
    measured_ = measured_costs(*profile, scenario_.device.name, ranks);
    profile_transfers_ = profile->transfers.size();
    return {};
}

// Adds the host's time to each op's, because the host works between the ops.
void ScenarioRun::run_in_program_order() {
    host_per_op_ = measured_.per_op.value_or(costs_.launch);
    DeviceTimings& device = costs_.devices.front();
    for (KernelTime& time : device.kernels) {
        time.duration += host_per_op_;
    }
    device.num_sms = 0;
    costs_.launch = Time{};
    Bytes cleared;
    for (std::size_t role = 0; role < program_.roles.size(); ++role) {
        cleared = std::max(cleared, MemoryPlan(program_, to_id<RoleId>(role)).cleared_bytes());
    }
    host_step_ = costs_.step + measured_.host_step(cleared).value_or(Time{});
    if (program_.num_ranks() > 1) {  // all-reduce of the losses
        const TransferTimes times{measured_.transfers};
        host_step_ +=
            times.time(TransferKind::all_reduce, Dtype::fp32, Bytes{4}, program_.num_ranks())
                .value_or(Time{});
    }
    use_measured_network(host_per_op_);
}

void ScenarioRun::use_measured_network(Time per_op) {
    std::vector<std::uint32_t> node_of_rank;
    for (std::uint32_t rank = 0; rank < program_.num_ranks(); ++rank) {
        node_of_rank.push_back(scenario_.cluster.node_of(rank));
    }
    measured_network_ = std::make_unique<MeasuredNetwork>(
        *network_, std::move(node_of_rank), measured_.transfers, per_op);
    network_ = measured_network_.get();
}

// Simulates the step without its faults, to find its begin.
Result<void> ScenarioRun::disturb() {
    if (scenario_.faults.in_step.empty()) {
        return {};
    }
    if (step_network_.packets) {
        return fail("faults", "in the middle of a step they need fair shares", "network: fluid");
    }
    SimulationOutcome before = execute({});
    if (!before) {
        return tl::unexpected(before.error());
    }
    const std::vector<Time>& ends = before->step_end;
    const Time iteration = before->iteration;
    begin_ = ends.size() > 1 ? ends[ends.size() - 2] : Time{};
    for (const StepFault& fault : scenario_.faults.in_step) {
        if (fault.time.seconds() >= iteration.seconds()) {
            return fail("faults",
                        fmt::format("{} comes {} into a step that takes {}",
                                    name(fault.kind),
                                    to_short_text(fault.time),
                                    to_short_text(iteration)),
                        "time: less than the step");
        }
    }
    undisturbed_ = std::move(*before);
    return {};
}

SimulationOutcome ScenarioRun::execute(std::vector<RankId> traced) {
    const SilentNetwork silent{*network_};
    SimulationInput input;
    input.program = &program_;
    input.network = options_.without ? static_cast<const NetworkModel*>(&silent) : network_;
    DeviceClasses classes = device_classes(
        faults_, scenario_, costs_.devices, static_cast<std::uint32_t>(program_.num_ranks()));
    // With faults every rank's times need the same origin.
    input.accelerations.step_barrier = scenario_.faults.in_step.empty();
    if (undisturbed_) {
        Result<StepEvents> events =
            step_events(scenario_, step_network_.nccl->fabric(), begin_, classes);
        if (!events) {
            return tl::unexpected(events.error());
        }
        input.events = std::move(*events);
    }
    input.devices = std::move(classes.devices);
    input.device_class = std::move(classes.of_rank);
    input.load = routed_ ? &routed_->load : nullptr;
    input.launch_cost = costs_.launch;
    input.in_program_order = runs_in_program_order(scenario_.device);
    input.steps = scenario_.job.steps;
    input.accelerations.fold(options_.fold);
    input.traced_ranks = std::move(traced);
    input.progress = options_.progress;
    if (step_network_.packets) {
        packets_.emplace();
        return simulate_on_packets(
            std::move(input), *step_network_.packets, scenario_.network_settings.window, *packets_);
    }
    const auto fidelity =
        network_->has_contention() ? scenario_.network : NetworkFidelity::analytic;
    const auto rates = make_rates(fidelity, network_->links());
    return simulate(input, *rates);
}

std::vector<RankId> ScenarioRun::traced_ranks() const {
    if (!options_.inspect) {
        return options_.trace ? role_representatives(program_) : std::vector<RankId>{};
    }
    std::vector<RankId> ranks;
    for (std::uint32_t rank = 0; rank < program_.num_ranks(); ++rank) {
        ranks.push_back(RankId{rank});
    }
    return ranks;
}

Result<void> ScenarioRun::hand_over_trace(const SimulationResult& first) {
    if (!options_.trace) {
        return {};
    }
    std::vector<RankId> ranks = role_representatives(program_);
    const auto& folds = first.fold_class_of_rank;
    const bool known = std::any_of(ranks.begin(), ranks.end(), [&](RankId r) {
        return r == first.slowest_rank ||
               (!folds.empty() && folds[index(r)] == folds[index(first.slowest_rank)]);
    });
    if (known) {
        return options_.trace(program_, first.trace);
    }
    // The slowest rank is known only after the run. If it was not traced, run again.
    ranks.push_back(first.slowest_rank);
    const SimulationOutcome again = execute(std::move(ranks));
    if (!again) {
        return tl::unexpected(again.error());
    }
    return options_.trace(program_, again->trace);
}

void ScenarioRun::describe(Answer& answer) const {
    const ParallelPlan& plan = scenario_.plan;
    const ClusterSpec& cluster = scenario_.cluster;
    answer.scenario = scenario_.name;
    answer.faults_left_out = faults_left_out(scenario_.faults.entries, FaultUser::step);
    answer.model = scenario_.model.name;
    answer.device = device_names(scenario_);
    answer.cluster = words_with_fabric(cluster);
    answer.plan = fmt::format("tp {}, pp {} x {}, cp {}, dp {}",
                              tensor_sizes(plan),
                              plan.pipeline_model_parallel_size,
                              plan.virtual_pipeline_model_parallel_size,
                              plan.context_parallel_size,
                              plan.data_parallel_size);
    answer.assumed = assumed_settings(scenario_);
    answer.remarks = scenario_.model_remarks;
    std::ranges::move(fabric_remarks(cluster), std::back_inserter(answer.remarks));
    std::ranges::move(kind_remarks(program_, scenario_), std::back_inserter(answer.remarks));
    answer.parameters = num_parameters(scenario_.model);
    answer.ranks = program_.num_ranks();
    answer.global_batch_size = plan.global_batch_size;
    answer.seq_length = scenario_.model.seq_length;
    answer.micro_batches = plan.num_micro_batches();
    answer.profile_transfers = profile_transfers_;
    answer.profile_transfers_here = measured_.transfers.size();
    answer.network_model = name(scenario_.network);
    if (step_network_.packets) {
        answer.network_model += fmt::format(
            " ({})", word_of(step_network_.packets->parameters().congestion, kCongestionKinds));
    } else if (const auto& factors = scenario_.network_settings.congestion) {
        answer.network_model += fmt::format(" under {} ({})", factors->algorithm, factors->name);
    }
    answer.seed = scenario_.job.seed;
    answer.version = kVersion;
}

Result<MemoryUse> ScenarioRun::memory() const {
    return whole_memory_use(
        program_,
        scenario_,
        *step_network_.nccl,
        memory_use(program_, routed_, tensors_, memory_of_roles(program_, scenario_)));
}

void ScenarioRun::speed(const SimulationResult& result, Answer& answer) const {
    const ModelFlops flops = model_flops(scenario_.model, scenario_.plan);
    answer.iteration = result.iteration;
    answer.peak = mean_peak(scenario_);
    const auto utilization = [&](Flop work) {
        return flops_utilization(work, result.iteration, answer.peak, program_.num_ranks());
    };
    answer.tokens_per_s =
        static_cast<double>(scenario_.plan.global_batch_size * scenario_.model.seq_length) /
        result.iteration.seconds();
    answer.mfu = utilization(flops.full_attention);
    answer.mfu_causal = utilization(flops.causal_attention);
    answer.hfu = utilization(flops.hardware_full_attention);
    answer.hfu_causal = utilization(flops.hardware_causal_attention);
    answer.model_flops_per_step = flops.full_attention;
    answer.model_flops_per_step_causal = flops.causal_attention;
    answer.hardware_flops_per_step = flops.hardware_full_attention;
    answer.uncertainty = relative_sigma(result, costs_);
    answer.unseen = costs_.kernels.sources.roofline > 0 ? costs_.unseen : Unseen::nothing;
    answer.shift = answer.unseen == Unseen::nothing ? 0 : spread_of(costs_, result.iteration).shift;
}

void ScenarioRun::explain(const SimulationResult& result, Answer& answer) const {
    const double all_peaks = answer.peak.per_second() * static_cast<double>(program_.num_ranks());
    const Time model_time = answer.model_flops_per_step / FlopRate::per_second(all_peaks);
    answer.lost_mfu = waterfall(
        {.result = &result,
         .num_ranks = static_cast<std::int64_t>(program_.num_ranks()),
         .noise = costs_.noise,
         .model_time = model_time,
         .on_slower_devices = work_on_slower_devices(program_, scenario_, costs_.devices)});
    answer.critical_path = result.critical_path;
    answer.network = link_uses(result, *network_, step_network_.nccl->fabric().link_class_names());
    std::vector<std::int64_t> bytes;
    for (std::size_t l = 0; l < step_network_.nccl->fabric().links().size(); ++l) {
        bytes.push_back(result.link_bytes[l].count());
    }
    answer.heat = heat_by_class(step_network_.nccl->fabric(), bytes, result.iteration, kHeatCells);
    answer.cost_sources = costs_.kernels.sources;
    answer.unprofiled_cpu =
        scenario_.device.generation == "cpu" && answer.cost_sources.roofline > 0.5;
    // CPUs differ by a factor of four by the width of their vectors alone: a factor of two in
    // either direction (assumed).
    answer.uncertainty =
        std::max(answer.uncertainty, answer.unprofiled_cpu ? std::numbers::ln2 : 0.0);
    if (routed_) {
        answer.expert_rows = routed_->layers;
        answer.rows_of_rank = routed_->rows_of_rank;
    }
    answer.simulated_ops = result.simulated_ops;
    answer.fold_classes = result.fold_classes;
    answer.flows = result.flows;
    answer.distinct_paths = result.distinct_paths;
    answer.rate_solves = result.rate_solves;
}

// Adds the times of the same step without its faults.
Result<void> ScenarioRun::compare_with_healthy(Answer& answer) const {
    answer.faults = fault_lines(faults_, scenario_);
    for (std::string& line : fault_lines(scenario_.faults.in_step, scenario_)) {
        answer.faults.push_back(std::move(line));
    }
    Scenario healthy = scenario_;
    healthy.faults = {};
    SimulationOptions options = options_;
    options.inspect = nullptr;
    options.look = nullptr;
    options.trace = nullptr;
    const Result<Answer> other = simulate_scenario(healthy, options);
    if (!other) {
        return tl::unexpected(other.error());
    }
    answer.healthy_iteration = other->iteration;
    return {};
}

Result<Answer> ScenarioRun::run() {
    const auto started = std::chrono::steady_clock::now();
    if (const Result<void> ready = prepare(); !ready) {
        return tl::unexpected(ready.error());
    }
    Result<MemoryUse> used = memory();
    if (!used) {
        return tl::unexpected(used.error());
    }
    Answer answer;
    describe(answer);
    answer.memory = *std::move(used);
    if (options_.only_if_fits && !answer.memory.fits) {
        return answer;
    }
    if (const Result<void> ready = disturb(); !ready) {
        return tl::unexpected(ready.error());
    }
    std::vector<FaultEvent> places = faults_;
    for (FaultEvent& place : places_of(scenario_.faults.in_step, scenario_)) {
        places.push_back(std::move(place));
    }
    const std::vector<WatchedRank> watched = watched_ranks(program_, scenario_, places);
    std::vector<RankId> ranks = traced_ranks();
    for (const WatchedRank& one : watched) {
        ranks.push_back(one.rank);
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    SimulationOutcome result = execute(std::move(ranks));
    if (!result) {
        return tl::unexpected(result.error());
    }
    std::vector<TracedOp> trace = result->trace;
    std::erase_if(trace, [&](const TracedOp& op) { return op.step + 1 < scenario_.job.steps; });
    if (result->hang) {
        answer.hang = hang_of(*result->hang, begin_, scenario_);
        *result = *undisturbed_;
    }
    result->iteration += host_step_;
    result->critical_path[Cause::launch] += host_step_;
    if (options_.look) {
        options_.look(*result);
    }
    if (options_.inspect) {
        options_.inspect(*result, host_per_op_);
    }
    if (const Result<void> written = hand_over_trace(*result); !written) {
        return tl::unexpected(written.error());
    }
    speed(*result, answer);
    explain(*result, answer);
    answer.packets = packets_;
    answer.collectives = collective_uses(program_, *network_);
    if (!places.empty()) {
        answer.rank_waits = rank_waits(program_, trace, watched);
        if (const Result<void> compared = compare_with_healthy(answer); !compared) {
            return tl::unexpected(compared.error());
        }
    }
    answer.wall_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    answer.peak_rss_bytes = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
    return answer;
}

}  // namespace

Result<Answer> simulate_scenario(const Scenario& scenario, const SimulationOptions& options) {
    return ScenarioRun{scenario, options}.run();
}

}  // namespace orrery
