// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/render/json_report.h"

#include <nlohmann/json.hpp>

#include "scenarios/report/render/json_text.h"
#include "scenarios/report/render/lost_json.h"

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

// Rows of tokens by layer. All numbers are relative to the mean.
Json expert_rows_json(const Answer& a) {
    Json layers = json_list<Json>(a.expert_rows, [](const LayerRows& rows) -> Json {
        return {{"layer", rows.layer},
                {"stage", index(rows.role)},
                {"busiest_rank", index(rows.busiest)},
                {"busiest_rows", rows.most},
                {"busiest_of_a_micro_batch", rows.mean_of_most},
                {"dropped", rows.dropped},
                {"experts", rows.of_experts}};
    });
    return {{"layers", std::move(layers)}, {"ranks", a.rows_of_rank}};
}

Json overheads_json(const MemoryUse& memory) {
    Json overheads = Json::object();
    for (const MemoryOverhead& overhead : memory.overheads) {
        overheads[overhead.name] = overhead.bytes.count();
    }
    return overheads;
}

Json memory_peak_json(const MemoryUse& memory) {
    Json largest = json_list<Json>(memory.largest, [](const BufferUse& buffer) -> Json {
        return {
            {"name", buffer.name}, {"kind", name(buffer.kind)}, {"bytes", buffer.bytes.count()}};
    });
    return {{"rank", index(memory.rank)},
            {"role", memory.role},
            {"moment", memory.moment},
            {"in_use_bytes", memory.in_use.count()},
            {"largest", largest}};
}

void add_memory(const MemoryUse& memory, Json& json) {
    json["memory"] = memory_json(memory);
    json["memory_peak"] = memory_peak_json(memory);
    json["memory_overheads"] = overheads_json(memory);
    if (memory.host > Bytes{}) {
        json["host_memory"] = {{"in_use_bytes", memory.host.count()},
                               {"server_bytes", memory.host_memory.count()},
                               {"largest", memory.host_largest.name},
                               {"largest_bytes", memory.host_largest.bytes.count()}};
    }
    if (memory.drives > Bytes{}) {
        json["drives"] = {{"in_use_bytes", memory.drives.count()},
                          {"server_bytes", memory.drives_size.count()},
                          {"largest", memory.drives_largest.name},
                          {"largest_bytes", memory.drives_largest.bytes.count()}};
    }
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
    return json_list<Json>(answer.collectives, [](const CollectiveUse& use) -> Json {
        return {{"name", use.name},
                {"ranks", use.ranks},
                {"bytes", use.bytes.count()},
                {"algorithm", use.algorithm},
                {"protocol", use.protocol},
                {"channels", use.channels},
                {"moved_by", name(use.engine)},
                {"sms", use.sms},
                {"count", use.count},
                {"alone_s", use.alone.seconds()}};
    });
}

Json assumed_json(const Answer& answer) {
    Json assumed = Json::object();
    for (const auto& [key, value] : answer.assumed) {
        assumed[key] = value;
    }
    return assumed;
}

Json faults_left_out_json(const std::vector<FaultLeftOut>& left_out) {
    return json_list<Json>(left_out, [](const FaultLeftOut& one) -> Json {
        return {{"entry", one.entry.path},
                {"what", one.entry.what},
                {"form", name(one.entry.form)},
                {"why", one.why}};
    });
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
    json["seq_length"] = a.seq_length;
    json["micro_batches"] = a.micro_batches;
    json["assumed"] = assumed_json(a);
    json["remarks"] = a.remarks;
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
    json["uncertainty_shift"] = a.shift;
    json["unseen"] = name(a.unseen);
    json["peak_memory_bytes"] = a.memory.peak.count();
    json["device_memory_bytes"] = a.memory.device.count();
    json["fits"] = a.memory.fits;
    add_memory(a.memory, json);
    if (!a.expert_rows.empty()) {
        json["expert_rows"] = expert_rows_json(a);
    }
    json["lost_mfu"] = lost_json<Json>(a, [](const LostMfu& lost) { return lost.mfu; });
    json["lost_s"] = lost_json<Json>(a, [](const LostMfu& lost) { return lost.time.seconds(); });
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
    if (!a.faults_left_out.empty()) {
        json["faults_left_out"] = faults_left_out_json(a.faults_left_out);
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
    return json_text(json);
}

}  // namespace orrery
