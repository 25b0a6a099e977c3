// SPDX-License-Identifier: Apache-2.0
// The section `campaign`: how long, how often, and what repairs, the checkpoint store and starting
// up are like.
#include <fmt/format.h>

#include "scenarios/format/read/read_distribution.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {
namespace {

// Node-microseconds fit 64 bits up to here, with room for sums.
constexpr double kNodeDaysMost = 5e7;

void read_repair(const DocumentNode& map, RepairSpec& repair, Errors& errors) {
    MapReader reader{map, "campaign.repair", errors};
    read_distribution(reader, "time", repair.time, errors);
    read_wall_time(reader, "test", repair.test);
    reader.integer("crews", repair.crews, {0, 1'000'000});
    reader.real("worse_most", repair.worse_most, 1, 100);
    reader.integer("worse_repairs", repair.worse_repairs, {1, 10'000});
    reader.real("infant", repair.infant, 1, 100);
    read_wall_time(reader, "infancy", repair.infancy);
    reader.finish();
}

void read_forecast(const DocumentNode& map, Forecast& forecast, Errors& errors) {
    MapReader reader{map, "campaign.forecast", errors};
    reader.real("recall", forecast.recall, 0, 1);
    reader.real("precision", forecast.precision, 0.001, 1);
    read_wall_time(reader, "lead", forecast.lead);
    reader.finish();
}

void read_storage(const DocumentNode& map, StoragePlan& storage, Errors& errors) {
    MapReader reader{map, "campaign.storage", errors};
    reader.quantity("write_bandwidth", storage.write);
    reader.quantity("read_bandwidth", storage.read);
    reader.boolean("shared_network", storage.shared);
    reader.real("bytes_per_parameter", storage.bytes_per_parameter, 0.01, 1000);
    read_wall_time(reader, "planning", storage.planning);
    if (storage.write <= Bandwidth{} || storage.read <= Bandwidth{}) {
        reader.complain("write_bandwidth", "campaign.storage has no bandwidth", "100 GB/s");
    }
    reader.finish();
}

void read_start_up(const DocumentNode& map, StartUpPlan& start_up, Errors& errors) {
    MapReader reader{map, "campaign.start_up", errors};
    static constexpr Choice<StoreKind> kStores[] = {{"blocking", StoreKind::blocking},
                                                    {"asynchronous", StoreKind::asynchronous}};
    static constexpr Choice<BarrierRule> kBarriers[] = {{"every_group", BarrierRule::every_group},
                                                        {"every_kind", BarrierRule::every_kind}};
    reader.choice("store", start_up.store, kStores);
    reader.choice("barriers", start_up.barriers, kBarriers);
    read_wall_time(reader, "store_operation", start_up.store_operation);
    read_wall_time(reader, "processes", start_up.processes);
    if (start_up.processes && reader.find("full") != nullptr) {
        reader.complain("full",
                        "campaign.start_up.full is processes and communicators together",
                        "full or processes");
    }
    read_wall_time(reader, "full", start_up.full);
    read_wall_time(reader, "in_place", start_up.in_place);
    read_wall_time(reader, "reconfigure", start_up.reconfigure);
    read_wall_time(reader, "swap", start_up.swap);
    read_wall_time(reader, "operator", start_up.call_operator);
    reader.finish();
}

void read_shape(const DocumentNode& map, CampaignPlan& plan, Errors& errors) {
    ClusterShape& shape = plan.shape;
    MapReader reader{map, "campaign.domains", errors};
    if (reader.integer("nodes_per_rack", shape.nodes_per_rack, {1, 100'000})) {
        plan.nodes_per_rack = shape.nodes_per_rack;
    }
    if (reader.integer("nodes_per_leaf", shape.nodes_per_leaf, {1, 100'000})) {
        plan.nodes_per_leaf = shape.nodes_per_leaf;
    }
    reader.integer("nodes_per_pdu", shape.nodes_per_pdu, {1, 100'000});
    reader.integer("nodes_per_pod", shape.nodes_per_pod, {1, 1'000'000});
    reader.finish();
}

}  // namespace

void read_campaign(const DocumentNode& section, CampaignPlan& plan, Errors& errors) {
    plan.present = true;
    if (!section.is_map()) {
        errors.push_back(
            {section.where(), "campaign must be a map, not " + section.describe(), "days: 54"});
        return;
    }
    MapReader reader{section, "campaign", errors};
    double days = plan.length.days();
    reader.real("days", days, 0.001, 100'000);
    plan.length = WallTime::days(days);
    if (days * plan.shape.nodes > kNodeDaysMost) {
        reader.complain(
            "days",
            fmt::format("campaign.days is {} on {} nodes: too long", days, plan.shape.nodes),
            fmt::format("at most {:.0f}", kNodeDaysMost / plan.shape.nodes));
    }
    reader.integer("seeds", plan.seeds, {1, 20'000});
    reader.real("tokens", plan.tokens, 1, 1e18);
    WallTime step;
    if (read_wall_time(reader, "step_time", step, WallTime::microseconds(1))) {
        plan.step_time = step;
    }
    reader.integer("flap_timeout", plan.flap_timeout, {1, 31});
    reader.integer("flap_retries", plan.flap_retries, {1, 7});
    const auto part = [&](const char* key, auto&& read) {
        const DocumentNode* node = reader.find(key);
        if (node != nullptr && !node->is_map()) {
            reader.complain(
                key, fmt::format("campaign.{} must be a map, not {}", key, node->describe()));
        } else if (node != nullptr) {
            read(*node);
        }
    };
    part("domains", [&](const DocumentNode& map) { read_shape(map, plan, errors); });
    part("repair", [&](const DocumentNode& map) { read_repair(map, plan.repair, errors); });
    part("forecast", [&](const DocumentNode& map) { read_forecast(map, plan.forecast, errors); });
    part("storage", [&](const DocumentNode& map) { read_storage(map, plan.storage, errors); });
    part("start_up", [&](const DocumentNode& map) { read_start_up(map, plan.start_up, errors); });
    part("detection", [&](const DocumentNode& map) {
        read_detection(map, "campaign.detection", plan.detection, errors);
    });
    reader.finish();
}

}  // namespace orrery
