// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "scenarios/report/fault_classes_report.h"
#include "scenarios/report/render/json_report.h"
#include "scenarios/report/render/json_text.h"
#include "scenarios/studies/campaign/checkpoint_overheads.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

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

// The figures of one plan. Those of the first plan also stand at the top level.
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

Json start_up_json(const StartUpAnswer& start_up) {
    Json json{{"processes_s", start_up.processes.seconds()},
              {"communicators_s", start_up.communicators.seconds()},
              {"groups", start_up.groups},
              {"store_operations", start_up.store_operations},
              {"given", start_up.given}};
    if (start_up.read > WallTime{}) {
        json["planning_s"] = start_up.planning.seconds();
        json["read_s"] = start_up.read.seconds();
        json["broadcast_s"] = start_up.broadcast.seconds();
    }
    return json;
}

Json plan_json(const CampaignAnswer& answer, const PlanAnswer& plan) {
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
    json["checkpoint_overheads"] =
        json_list<Json>(checkpoint_overheads(answer, plan), [](const auto& one) -> Json {
            return {{"rule", one.rule},
                    {"interval_s", one.interval.seconds()},
                    {"checkpoints", one.checkpoints},
                    {"failures", one.failures},
                    {"overhead", one.overhead()}};
        });
    json["load_s"] = plan.costs.load_remote.seconds();
    json["restart_s"] = plan.costs.restart_full.seconds();
    json["start_up"] = start_up_json(plan.start_up);
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
    json["mttf_h"] = plan.mttf_h ? Json(*plan.mttf_h) : Json(nullptr);
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
    json["faults"] = json_list<Json>(plan.faults, [](const auto& fault) -> Json {
        return {{"class", fault.first}, {"mean", fault.second}};
    });
    json["ettr_by_part"] = plan.ettr_by_day;
    return json;
}

}  // namespace

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
    json["fault_classes"] = Json::parse(fault_classes_json(a.fault_classes));
    json["tokens_per_day"] = a.tokens_per_day;
    if (!a.plans.empty()) {
        add_plan_numbers(json, a.plans.front());
    }
    json["policies"] =
        json_list<Json>(a.plans, [&](const PlanAnswer& plan) { return plan_json(a, plan); });
    json["wall_s"] = a.wall_s;
    json["version"] = a.version;
    return json_text(json);
}

}  // namespace orrery
