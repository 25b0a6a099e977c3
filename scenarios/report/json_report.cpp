// SPDX-License-Identifier: Apache-2.0
// The one owner of nlohmann-json for writing.
#include "scenarios/report/json_report.h"

#include <nlohmann/json.hpp>

#include "scenarios/measure/run_comparison.h"
#include "scenarios/report/hang_json.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

Json memory_json(const MemoryUse& memory) {
    Json kinds = Json::object();
    for (std::size_t i = 0; i < kNumTensorKinds; ++i) {
        kinds[std::string{name(static_cast<TensorKind>(i))}] = memory.of[i].count();
    }
    return kinds;
}

Json memory_peak_json(const MemoryUse& memory) {
    Json largest = Json::array();
    for (const BufferUse& buffer : memory.largest) {
        largest.push_back(
            {{"name", buffer.name}, {"kind", name(buffer.kind)}, {"bytes", buffer.bytes.count()}});
    }
    return {{"rank", index(memory.rank)},
            {"role", memory.role},
            {"moment", memory.moment},
            {"largest", largest}};
}

Json lost_json(const Answer& answer, bool as_time) {
    Json lost = Json::object();
    for (const LostMfu& part : answer.lost_mfu) {
        lost[std::string{name(part.cause)}] = as_time ? part.time.seconds() : part.mfu;
    }
    return lost;
}

Json critical_path_json(const Answer& answer) {
    Json path = Json::object();
    for (std::size_t c = 0; c < kNumCauses; ++c) {
        if (answer.critical_path.of[c] != Time{}) {
            path[std::string{name(static_cast<Cause>(c))}] = answer.critical_path.of[c].seconds();
        }
    }
    return path;
}

Json packet_window_json(const PacketWindowUse& p) {
    return {{"whole_step", p.whole},
            {"begin_s", p.begin.seconds()},
            {"for_s", p.lasts.seconds()},
            {"fair_iteration_s", p.fair_iteration.seconds()},
            {"transfers", p.transfers},
            {"slowdown", p.slowdown},
            {"slowdown_max", p.slowdown_max},
            {"packets", p.packets},
            {"repeated", p.repeated},
            {"marked", p.marked},
            {"trimmed", p.trimmed},
            {"dropped", p.dropped},
            {"pauses", p.pauses},
            {"failed_connections", p.failed},
            {"paused_max_s", p.paused_max.seconds()},
            {"queue_max_bytes", p.queue_max.count()},
            {"queue_at", p.queue_at}};
}

Json network_json(const Answer& answer) {
    Json network = Json::object();
    for (const LinkUse& use : answer.network) {
        network[use.link_class] = {{"mean", use.mean}, {"max", use.max}};
    }
    return network;
}

Json rank_waits_json(const Answer& answer) {
    Json list = Json::array();
    for (const RankWait& wait : answer.rank_waits) {
        Json waits = Json::object();
        for (std::size_t c = 0; c < kNumCauses; ++c) {
            if (wait.waits.of[c] != Time{}) {
                waits[std::string{name(static_cast<Cause>(c))}] = wait.waits.of[c].seconds();
            }
        }
        list.push_back({{"rank", index(wait.rank)},
                        {"relation", wait.relation},
                        {"kernels_s", wait.kernels.seconds()},
                        {"waits_s", waits}});
    }
    return list;
}

Json collectives_json(const Answer& answer) {
    Json list = Json::array();
    for (const CollectiveUse& use : answer.collectives) {
        list.push_back({{"name", use.name},
                        {"ranks", use.ranks},
                        {"bytes", use.bytes.count()},
                        {"algorithm", use.algorithm},
                        {"protocol", use.protocol},
                        {"channels", use.channels},
                        {"count", use.count}});
    }
    return list;
}

// Text may hold what is not UTF-8 (a file name): replaced, never a failure.
std::string dumped(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json flows_json(const NetworkAnswer& a) {
    Json flows = Json::array();
    for (const FlowTimes& f : a.flows) {
        flows.push_back({{"size_bytes", f.size.count()},
                         {"flows", f.flows},
                         {"finished", f.finished},
                         {"moved", f.moved},
                         {"stalled", f.stalled},
                         {"stalled_max_us", f.stalled_max.microseconds()},
                         {"min_us", f.min.microseconds()},
                         {"median_us", f.median.microseconds()},
                         {"p99_us", f.p99.microseconds()},
                         {"max_us", f.max.microseconds()},
                         {"slowdown_median", f.slowdown_median},
                         {"slowdown_p99", f.slowdown_p99},
                         {"slowdown_max", f.slowdown_max}});
    }
    return flows;
}

Json packets_json(const NetworkAnswer& a) {
    Json packets = Json::array();
    for (const PacketCounts& p : a.packets) {
        packets.push_back({{"size_bytes", p.size.count()},
                           {"packets", p.packets},
                           {"repeated", p.repeated},
                           {"marked", p.marked},
                           {"trimmed", p.trimmed},
                           {"dropped", p.dropped},
                           {"pauses", p.pauses},
                           {"paused_max_us", p.paused_max.microseconds()},
                           {"queue_max_bytes", p.queue_max.count()},
                           {"queue_at", p.queue_at},
                           {"events", p.events}});
    }
    return packets;
}

Json errors_json(const ErrorSummary& summary) {
    return {{"cases", summary.cases},
            {"median", summary.median},
            {"p90", summary.p90},
            {"max", summary.max},
            {"mean", summary.mean}};
}

Json ratio_json(const RatioSummary& ratios) {
    return {{"pairs", ratios.pairs},
            {"median", ratios.median},
            {"max", ratios.max},
            {"control_median", ratios.control_median},
            {"rank_correlation", ratios.rank_correlation}};
}

Json statistic_json(const Statistic& s) {
    return {{"mean", s.mean},
            {"low", s.low},
            {"high", s.high},
            {"deviation", s.deviation},
            {"p5", s.p5},
            {"p50", s.p50},
            {"p95", s.p95}};
}

Json gpu_hours_json(const PlanAnswer& plan) {
    Json json = Json::object();
    for (std::size_t u = 0; u < kNumNodeUses; ++u) {
        json[std::string{name(static_cast<NodeUse>(u))}] = plan.gpu_hours[u];
    }
    return json;
}

// The numbers that one plan is judged by; the same keys stand at the top for the first plan.
void add_plan_numbers(Json& json, const PlanAnswer& plan) {
    json["interruptions_mean"] = plan.interruptions.mean;
    json["interruptions_interval"] = {plan.interruptions.low, plan.interruptions.high};
    json["ettr_mean"] = plan.ettr.mean;
    json["ettr_interval"] = {plan.ettr.low, plan.ettr.high};
    json["goodput_mean"] = plan.goodput.mean;
    json["goodput_interval"] = {plan.goodput.low, plan.goodput.high};
    json["effective_mfu_mean"] = plan.effective_mfu.mean;
    json["effective_mfu_interval"] = {plan.effective_mfu.low, plan.effective_mfu.high};
    json["gpu_hours"] = gpu_hours_json(plan);
}

Json plan_json(const PlanAnswer& plan) {
    Json json;
    json["name"] = plan.name;
    json["policies"] = plan.policies;
    Json uncovered = Json::object();
    for (const auto& [policy, what] : plan.not_covered) {
        uncovered[policy] = what;
    }
    json["not_covered"] = uncovered;
    json["spares"] = plan.spares;
    json["checkpoint_interval_s"] = plan.interval.seconds();
    json["checkpoint_stall_s"] = plan.checkpoint.stall.seconds();
    json["checkpoint_copy_s"] = plan.checkpoint.copy.seconds();
    json["load_s"] = plan.costs.load_remote.seconds();
    json["restart_s"] = plan.costs.restart_full.seconds();
    add_plan_numbers(json, plan);
    json["ettr"] = statistic_json(plan.ettr);
    json["ettr_over_first"] = statistic_json(plan.ettr_over_first);
    json["ettr_sliding_hour"] = {
        {"least", plan.sliding.least}, {"p5", plan.sliding.p5}, {"p50", plan.sliding.p50}};
    json["restarts_mean"] = plan.restarts.mean;
    json["evictions_mean"] = plan.evictions.mean;
    json["false_evictions_mean"] = plan.false_evictions.mean;
    json["operator_calls_mean"] = plan.operator_calls.mean;
    json["undetected_corruption_share"] = plan.undetected.mean;
    json["mttf_h_mean"] = plan.mttf_h.mean;
    json["mttr_s"] = plan.mttr_s;
    Json parts = Json::object();
    for (std::size_t u = 0; u < kNumNodeUses; ++u) {
        if (plan.per_interruption_s[u] > 0) {
            parts[std::string{name(static_cast<NodeUse>(u))}] = plan.per_interruption_s[u];
        }
    }
    json["mttr_parts_s"] = parts;
    json["recovery_s"] = {
        {"p50", plan.recovery_p50_s}, {"p95", plan.recovery_p95_s}, {"max", plan.recovery_max_s}};
    json["lost_hours_mean"] = plan.lost_h.mean;
    json["lost_s_of_a_restart"] = {{"p50", plan.loss_p50_s}, {"p95", plan.loss_p95_s}};
    json["nodes_in_repair_max"] = plan.down_most;
    json["finish_days"] = statistic_json(plan.finish_days);
    Json faults = Json::array();
    for (const auto& [of, mean] : plan.faults) {
        faults.push_back({{"class", of}, {"mean", mean}});
    }
    json["faults"] = faults;
    json["ettr_by_part"] = plan.ettr_by_day;
    return json;
}

}  // namespace

std::string json_report(const Answer& a) {
    Json json;
    json["scenario"] = a.scenario;
    json["model"] = a.model;
    json["device"] = a.device;
    json["cluster"] = a.cluster;
    json["plan"] = a.plan;
    json["parameters"] = a.parameters;
    json["ranks"] = a.ranks;
    json["global_batch_size"] = a.global_batch_size;
    json["micro_batches"] = a.micro_batches;
    json["iteration_s"] = a.iteration.seconds();
    json["tokens_per_s"] = a.tokens_per_s;
    json["mfu"] = a.mfu;
    json["mfu_causal"] = a.mfu_causal;
    json["hfu"] = a.hfu;
    json["hfu_causal"] = a.hfu_causal;
    json["model_flops_per_step"] = a.model_flops_per_step.count();
    json["model_flops_per_step_causal"] = a.model_flops_per_step_causal.count();
    json["hardware_flops_per_step"] = a.hardware_flops_per_step.count();
    json["peak_flops_per_s"] = a.peak.per_second();
    json["uncertainty"] = a.uncertainty;
    json["peak_memory_bytes"] = a.memory.peak.count();
    json["device_memory_bytes"] = a.memory.device.count();
    json["fits"] = a.memory.fits;
    json["memory"] = memory_json(a.memory);
    json["memory_peak"] = memory_peak_json(a.memory);
    json["lost_mfu"] = lost_json(a, false);
    json["lost_s"] = lost_json(a, true);
    json["critical_path_s"] = critical_path_json(a);
    json["network"] = network_json(a);
    json["collectives"] = collectives_json(a);
    json["cost_sources"] = {{"measured", a.cost_sources.measured},
                            {"interpolated", a.cost_sources.interpolated},
                            {"roofline", a.cost_sources.roofline}};
    if (!a.faults.empty()) {
        json["faults"] = a.faults;
        json["healthy_iteration_s"] = a.healthy_iteration.seconds();
        json["rank_waits"] = rank_waits_json(a);
        if (a.hang) {
            json["hang"] = Json::parse(hang_json(*a.hang));
        }
    }
    json["network_model"] = a.network_model;
    if (a.packets) {
        json["packets"] = packet_window_json(*a.packets);
    }
    json["simulated_ops"] = a.simulated_ops;
    json["fold_classes"] = a.fold_classes;
    json["flows"] = a.flows;
    json["distinct_paths"] = a.distinct_paths;
    json["rate_solves"] = a.rate_solves;
    json["wall_s"] = a.wall_s;
    json["peak_rss_bytes"] = a.peak_rss_bytes;
    json["seed"] = a.seed;
    json["version"] = a.version;
    return dumped(json);
}

std::string json_report(const Validation& validation) {
    Json rows = Json::array();
    for (const ValidatedCase& row : validation.rows) {
        rows.push_back({{"case", row.name},
                        {"family", row.family},
                        {"measured_s", row.measured_s},
                        {"predicted_s", row.predicted_s},
                        {"control_s", row.control_s},
                        {"error", row.error()},
                        {"control_error", row.control_error()},
                        {"relative_sigma", row.sigma},
                        {"half_width_90", row.half_width()},
                        {"within_90", row.within()},
                        {"fits", row.fits},
                        {"wall_s", row.wall_s}});
    }
    Json skipped = Json::array();
    for (const SkippedCase& skip : validation.skipped) {
        skipped.push_back({{"case", skip.name}, {"family", skip.family}, {"reason", skip.reason}});
    }
    Json families = Json::object();
    for (const FamilySummary& family : validation.families) {
        families[family.family] = {{"predicted", errors_json(family.predicted)},
                                   {"control", errors_json(family.control)},
                                   {"ratios", ratio_json(family.ratios)},
                                   {"coverage_90", family.coverage}};
    }
    const bool any = !validation.rows.empty();
    const Json overall = {
        {"balanced_error", any ? Json(validation.balanced_error) : Json()},
        {"control_balanced_error", any ? Json(validation.control_balanced_error) : Json()},
        {"p90_error", any ? Json(validation.p90_error) : Json()},
        {"ratio_error", any ? Json(validation.ratio_error) : Json()},
        {"control_ratio_error", any ? Json(validation.control_ratio_error) : Json()},
        {"assumed_instead", validation.assumed_instead},
        {"coverage_90", any ? Json(validation.coverage) : Json()},
        {"balanced_coverage_90", any ? Json(validation.balanced_coverage) : Json()},
        {"median_half_width_90", any ? Json(validation.median_half_width) : Json()},
        {"families", validation.families.size()},
        {"cases", validation.rows.size()},
        {"skipped", validation.skipped.size()},
        {"ranking",
         {{"choices", validation.ranking.choices},
          {"pairs", validation.ranking.pairs},
          {"kendall_tau", validation.ranking.tau}}}};
    return dumped(
        Json{{"rows", rows}, {"skipped", skipped}, {"families", families}, {"overall", overall}});
}

std::string json_report(const NetworkAnswer& a) {
    Json rows = Json::array();
    for (const NetworkRow& row : a.rows) {
        rows.push_back({{"size_bytes", row.size.count()},
                        {"count", row.count},
                        {"type", "float"},
                        {"redop", row.reduction},
                        {"algorithm", row.algorithm},
                        {"protocol", row.protocol},
                        {"channels", row.channels},
                        {"time_us", row.time.microseconds()},
                        {"algbw_GBps", row.algbw},
                        {"busbw_GBps", row.busbw},
                        {"nccl_estimate_us", row.nccl_us > 0 ? Json(row.nccl_us) : Json()},
                        {"finished", row.finished}});
    }
    Json links = {{"size_bytes", a.links_size.count()},
                  {"classes", Json::array()},
                  {"busiest", Json::array()}};
    for (const LinkClassUse& use : a.classes) {
        links["classes"].push_back({{"class", use.link_class},
                                    {"links", use.links},
                                    {"used", use.used},
                                    {"mean", use.mean},
                                    {"max", use.max}});
    }
    for (const BusyLink& link : a.busiest) {
        links["busiest"].push_back({{"link", link.link},
                                    {"utilisation", link.utilisation},
                                    {"bytes", link.bytes},
                                    {"flows", link.flows}});
    }
    return dumped(Json{{"scenario", a.scenario},
                       {"cluster", a.cluster},
                       {"pattern", a.pattern},
                       {"network", a.fidelity},
                       {"routing", a.routing},
                       {"ranks", a.ranks},
                       {"rows", rows},
                       {"flows", flows_json(a)},
                       {"packets", packets_json(a)},
                       {"links", links},
                       {"notes", a.notes},
                       {"rate_solves", a.rate_solves},
                       {"wall_s", a.wall_s},
                       {"version", a.version}});
}

std::string json_report(const CollectiveValidation& validation) {
    const auto family_json = [](const CollectiveFamily& family) {
        const auto median = [](std::size_t rows, double value) {
            return Json{{"rows", rows}, {"median", rows > 0 ? Json(value) : Json()}};
        };
        return Json{{"below_1MiB", median(family.rows_small, family.median_small)},
                    {"from_1MiB", median(family.rows_large, family.median_large)}};
    };
    Json rows = Json::array();
    for (const ValidatedCollective& row : validation.rows) {
        rows.push_back({{"family", row.of.family()},
                        {"size_bytes", row.of.bytes.count()},
                        {"measured_us", row.of.measured_us},
                        {"predicted_us", row.predicted_us},
                        {"error", row.error()},
                        {"algorithm", row.algorithm},
                        {"protocol", row.protocol}});
    }
    Json skipped = Json::array();
    for (const SkippedCollective& family : validation.skipped) {
        skipped.push_back({{"family", family.family}, {"reason", family.reason}});
    }
    Json families = Json::object();
    for (const CollectiveFamily& family : validation.families) {
        families[family.name] = family_json(family);
    }
    return dumped(Json{{"rows", rows},
                       {"skipped", skipped},
                       {"families", families},
                       {"overall", family_json(validation.all)}});
}

std::string comparison_json(const RunComparison& c) {
    Json json{{"scenario", c.scenario},
              {"machine", c.machine},
              {"ranks", c.ranks},
              {"steps", c.steps},
              {"steps_used", c.steps_used},
              {"steps_undisturbed", c.undisturbed},
              {"measured_s", c.measured_s},
              {"measured_median_s", c.all_median_s},
              {"measured_spread", c.all_spread},
              {"processor_s", c.cpu_s},
              {"undisturbed_s", c.replayed_s},
              {"undisturbed_spread", c.replayed_spread},
              {"predicted_s", c.predicted_s},
              {"error", c.predicted_s / c.replayed_s - 1},
              {"uncertainty", c.uncertainty}};
    json["memory"] = {{"predicted_bytes", c.predicted_memory.count()},
                      {"allocated_bytes", c.allocated_memory.count()},
                      {"resident_bytes", c.resident_memory.count()}};
    json["parts"] = Json::array();
    for (const ComparedPart& part : c.parts) {
        json["parts"].push_back({{"kind", name(part.kind)},
                                 {"name", part.name},
                                 {"runs", part.runs},
                                 {"measured_s", part.measured_s},
                                 {"predicted_s", part.predicted_s}});
    }
    return dumped(json);
}

std::string json_report(const CampaignAnswer& a) {
    Json json;
    json["scenario"] = a.scenario;
    json["cluster"] = a.cluster;
    json["gpus"] = a.gpus;
    json["days"] = a.length.days();
    json["seeds"] = a.seeds;
    json["seed"] = a.first_seed;
    json["step_s"] = a.step.seconds();
    json["step_simulated"] = a.step_simulated;
    json["mfu"] = a.mfu;
    json["slow_slope"] = a.slow_slope;
    json["shrunk_rate"] = a.shrunk;
    json["expected_mtbf_h"] = a.mtbf_h;
    json["tokens_per_day"] = a.tokens_per_day;
    if (!a.plans.empty()) {
        add_plan_numbers(json, a.plans.front());
    }
    Json plans = Json::array();
    for (const PlanAnswer& plan : a.plans) {
        plans.push_back(plan_json(plan));
    }
    json["policies"] = plans;
    json["wall_s"] = a.wall_s;
    json["version"] = a.version;
    return dumped(json);
}

}  // namespace orrery
