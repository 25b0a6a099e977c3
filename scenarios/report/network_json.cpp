// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "scenarios/report/json_report.h"
#include "scenarios/report/json_text.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

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
                        {"time_us", row.time.microseconds()},
                        {"algbw_GBps", row.algbw},
                        {"busbw_GBps", row.busbw},
                        {"nccl_estimate_us", row.nccl_us > 0 ? Json(row.nccl_us) : Json()},
                        {"finished", row.finished}});
        if (row.measured > Time{}) {
            rows.back()["measured_us"] = row.measured.microseconds();
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
