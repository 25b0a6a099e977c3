// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "scenarios/report/render/json_report.h"
#include "scenarios/report/render/json_text.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

Json flows_json(const NetworkAnswer& a) {
    return json_list<Json>(a.flows, [](const FlowTimes& f) -> Json {
        return {{"size_bytes", f.size.count()},
                {"flows", f.flows},
                {"finished", f.finished},
                {"moved", f.moved},
                {"stalled", f.stalled},
                {"stalled_max_s", f.stalled_max.seconds()},
                {"min_s", f.min.seconds()},
                {"median_s", f.median.seconds()},
                {"p99_s", f.p99.seconds()},
                {"max_s", f.max.seconds()},
                {"slowdown_median", f.slowdown_median},
                {"slowdown_p99", f.slowdown_p99},
                {"slowdown_max", f.slowdown_max}};
    });
}

Json packets_json(const NetworkAnswer& a) {
    return json_list<Json>(a.packets, [](const PacketCounts& p) -> Json {
        return {{"size_bytes", p.size.count()},
                {"packets", p.packets},
                {"repeated", p.repeated},
                {"marked", p.marked},
                {"trimmed", p.trimmed},
                {"dropped", p.dropped},
                {"pauses", p.pauses},
                {"paused_max_s", p.paused_max.seconds()},
                {"queue_max_bytes", p.queue_max.count()},
                {"queue_at", p.queue_at},
                {"events", p.events}};
    });
}

}  // namespace

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
                        {"time_s", row.time.seconds()},
                        {"algbw_bytes_per_s", row.algbw * 1e9},
                        {"busbw_bytes_per_s", row.busbw * 1e9},
                        {"nccl_estimate_s", row.nccl_us > 0 ? Json(row.nccl_us * 1e-6) : Json()},
                        {"finished", row.finished}});
        if (row.measured > Time{}) {
            rows.back()["measured_s"] = row.measured.seconds();
        }
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
    return json_text(Json{{"scenario", a.scenario},
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

}  // namespace orrery
