// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/read_fault_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <tuple>
#include <utility>

#include "kernels/csv_rows.h"

namespace orrery {
namespace {

FaultKind kind_of(const std::string& fault, const std::string& kind) {
    static const std::pair<std::string_view, FaultKind> kKnown[] = {
        {"double_bit_ecc", FaultKind::hbm_uncorrectable},
        {"silent_data_corruption", FaultKind::silent_corruption},
        {"gpu/", FaultKind::gpu_lost},
        {"cable/", FaultKind::nic_down},
        {"nic/", FaultKind::nic_down},
        {"power_supply/", FaultKind::power_loss},
        {"fan/", FaultKind::host_fault},
    };
    for (const auto& [part, known] : kKnown) {
        if (fault.find(part) != std::string::npos) {
            return known;
        }
    }
    // A software fault of the trace also took its node out of service.
    return kind == "software" ? FaultKind::node_crash : FaultKind::host_fault;
}

struct Row {
    FaultEvent event;
    double time_s = 0;
};

bool read_row(const CsvRow& row, Row& out, Errors& errors) {
    const std::size_t before = errors.size();
    const auto number = [&](std::size_t field, const char* name, double most) {
        const auto value = parse_number(row.fields[field]);
        if (!value || *value < 0 || *value > most) {
            errors.push_back(
                {row.where,
                 fmt::format(
                     "{} is '{}', not a number from 0 to {:g}", name, row.fields[field], most),
                 "seconds since the trace's beginning, such as 86400.5"});
            return 0.0;
        }
        return *value;
    };
    out.time_s = number(0, "time_s", 1e10);
    const auto node = parse_integer(row.fields[1]);
    if (!node || *node < 0 || *node > 10'000'000) {
        errors.push_back(
            {row.where, fmt::format("node is '{}', not a number", row.fields[1]), "0, 1, 2 …"});
    }
    const double duration = number(3, "duration_s", 1e10);
    const std::string& kind = row.fields[4];
    if (kind != "hardware" && kind != "software" && kind != "other") {
        errors.push_back(
            {row.where, fmt::format("kind can't be '{}'", kind), "hardware, software or other"});
    }
    if (errors.size() != before) {
        return false;
    }
    out.event.time = WallTime::seconds(out.time_s);
    out.event.nodes = {static_cast<std::uint32_t>(*node), 1};
    out.event.kind = kind_of(row.fields[2], kind);
    out.event.duration = std::max(WallTime::seconds(duration), WallTime::microseconds(1));
    return true;
}

ResultOrErrors<FaultTrace> trace_of(const std::vector<CsvRow>& rows, const std::string& name) {
    Errors errors;
    if (rows.empty()) {
        errors.push_back({name, "the trace has no faults", "rows below its line of columns"});
    }
    FaultTrace trace;
    double last = 0;
    for (const CsvRow& row : rows) {
        Row read;
        if (!read_row(row, read, errors)) {
            continue;
        }
        if (read.time_s < last) {
            errors.push_back({row.where,
                              fmt::format("time_s {} is before the row above it", row.fields[0]),
                              "order the rows by time"});
        }
        last = read.time_s;
        trace.nodes = std::max(trace.nodes, read.event.nodes.first + 1);
        trace.events.push_back(read.event);
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return trace;
}

std::vector<std::string> trace_columns() {
    return {"time_s", "node", "fault", "duration_s", "kind"};
}

}  // namespace

ResultOrErrors<FaultTrace> read_fault_trace(const std::string& file) {
    const auto rows = read_csv(file, trace_columns());
    return rows ? trace_of(*rows, file) : unexpected<Errors>(rows.error());
}

ResultOrErrors<FaultTrace> parse_fault_trace(const std::string& table, const std::string& name) {
    std::istringstream text(table);
    const auto rows = read_csv(text, name, trace_columns());
    return rows ? trace_of(*rows, name) : unexpected<Errors>(rows.error());
}

DownNodes nodes_down(const std::vector<FaultEvent>& events, WallTime length) {
    // Starts and ends in the order of time. Ends come first, so that adjacent faults do not
    // overlap.
    std::vector<std::tuple<WallTime, int, std::uint32_t>> changes;
    for (const FaultEvent& event : events) {
        changes.emplace_back(event.time, 1, event.nodes.first);
        changes.emplace_back(event.time + event.duration, -1, event.nodes.first);
    }
    std::sort(changes.begin(), changes.end());
    std::map<std::uint32_t, int> open;
    std::map<std::uint32_t, std::int64_t> time_at;  // microseconds by number of down nodes
    std::uint32_t down = 0;
    WallTime now;
    const auto until = [&](WallTime time) {
        const WallTime end = std::min(time, length);
        if (end > now) {
            time_at[down] += (end - now).microseconds();
            now = end;
        }
    };
    for (const auto& [time, change, node] : changes) {
        until(time);
        int& faults = open[node];
        const bool was_down = faults > 0;
        faults += change;
        down += faults > 0 && !was_down ? 1 : 0;
        down -= faults == 0 && was_down ? 1 : 0;
    }
    until(length);
    DownNodes result;
    double below = 0;
    for (const auto& at : time_at) {
        const auto [count, span] = at;
        const double share = static_cast<double>(span) / static_cast<double>(length.microseconds());
        result.mean += share * count;
        const auto reach = [&](double q, std::uint32_t& value) {
            value = below < q ? at.first : value;
        };
        reach(0.5, result.p50);
        reach(0.9, result.p90);
        reach(0.99, result.p99);
        reach(0.999, result.p999);
        below += share;
        result.most = count;
    }
    return result;
}

}  // namespace orrery
