// SPDX-License-Identifier: Apache-2.0
#include "kernels/profile.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <span>
#include <sstream>
#include <string_view>
#include <tuple>

#include "kernels/catalogue.h"
#include "kernels/csv_rows.h"

namespace orrery {

namespace {

const std::vector<std::string> kProfileColumns{"device",
                                               "kind",
                                               "dtype",
                                               "variant",
                                               "d0",
                                               "d1",
                                               "d2",
                                               "d3",
                                               "d4",
                                               "d5",
                                               "time_us",
                                               "spread",
                                               "samples",
                                               "ranks=1"};
constexpr std::size_t kFirstDimension = 4;
constexpr std::string_view kHostOp = "host_op";
constexpr std::string_view kHostStep = "host_step";

std::string name_of_column(std::size_t column) {
    return kProfileColumns[column].substr(0, kProfileColumns[column].find('='));
}

// The field as a number in [lowest, …); otherwise appends an error and returns zero.
double number(const CsvRow& row, std::size_t column, double lowest, Errors& errors) {
    const auto value = parse_number(row.fields[column]);
    if (!value || *value < lowest) {
        errors.push_back({row.where,
                          name_of_column(column) + " '" + row.fields[column] + "' is not a number" +
                              (lowest >= 0 ? " that is large enough" : ""),
                          ""});
        return 0;
    }
    return *value;
}

std::int64_t whole(const CsvRow& row, std::size_t column, std::int64_t lowest, Errors& errors) {
    const auto value = parse_integer(row.fields[column]);
    if (!value || *value < lowest) {
        errors.push_back({row.where,
                          name_of_column(column) + " '" + row.fields[column] +
                              "' is not a whole number >= " + std::to_string(lowest),
                          ""});
        return 0;
    }
    return *value;
}

// The columns that all kinds of rows have.
struct Row {
    std::string device;
    std::string kind;
    Dtype dtype = Dtype::fp32;
    std::int64_t variant = 0;
    std::array<std::int64_t, 6> dims{};
    Time median;
    double spread = 0;
    std::int64_t samples = 1;
    std::uint32_t ranks = 1;
    auto key() const { return std::tuple{device, kind, dtype, variant, dims, ranks}; }
};

Row row_of(const CsvRow& row, Errors& errors) {
    Row result{.device = row.fields[0], .kind = row.fields[1], .median = {}};
    const auto dtype = dtype_named(row.fields[2]);
    if (!dtype) {
        errors.push_back({row.where, "unknown dtype '" + row.fields[2] + "'", ""});
    }
    result.dtype = dtype.value_or(Dtype::fp32);
    if (row.fields[0].empty()) {
        errors.push_back({row.where, "device is empty", ""});
    }
    result.variant = whole(row, 3, 0, errors);
    for (std::size_t i = 0; i < result.dims.size(); ++i) {
        result.dims[i] = whole(row, kFirstDimension + i, 0, errors);
    }
    constexpr double kShortest_us = 1e-6;
    constexpr double kLongest_us = 1e12;
    const double time_us = number(row, 10, kShortest_us, errors);
    if (time_us > kLongest_us) {
        errors.push_back({row.where, "time_us " + row.fields[10] + " is over ten days", ""});
    }
    result.median = Time::seconds(time_us * 1e-6);
    result.spread = number(row, 11, 0, errors);
    result.samples = whole(row, 12, 1, errors);
    constexpr std::int64_t kMostRanks = 1 << 20;
    const std::int64_t ranks = whole(row, 13, 1, errors);
    if (ranks > kMostRanks) {
        errors.push_back({row.where, "ranks " + row.fields[13] + " are too many", ""});
    }
    result.ranks = static_cast<std::uint32_t>(std::min(ranks, kMostRanks));
    return result;
}

void add_kernel(const Row& row,
                KernelKind kind,
                const std::string& where,
                MachineProfile& profile,
                Errors& errors) {
    const auto call =
        row.variant < 256
            ? call_from_key(kind, row.dtype, static_cast<std::uint8_t>(row.variant), row.dims)
            : std::nullopt;
    if (!call) {
        errors.push_back({where,
                          "no " + row.kind + " has this variant and these dimensions",
                          "see the header in kernels/ that documents the kernel"});
        return;
    }
    profile.kernels.push_back({.device = row.device,
                               .call = *call,
                               .median = row.median,
                               .spread = row.spread,
                               .samples = row.samples,
                               .ranks = row.ranks});
}

void add_other(const Row& row, const std::string& where, MachineProfile& profile, Errors& errors) {
    const auto transfer = transfer_named(row.kind);
    const bool step = row.kind == kHostStep;
    if (!transfer && !step && row.kind != kHostOp) {
        errors.push_back({where, "unknown kernel kind '" + row.kind + "'", ""});
        return;
    }
    const auto unused = std::span{row.dims}.subspan(transfer || step ? 1 : 0);
    if (row.variant != 0 || std::ranges::any_of(unused, [](auto d) { return d != 0; })) {
        errors.push_back({where, row.kind + " has no such variant or dimensions", ""});
    } else if (!transfer) {
        profile.hosts.push_back({.device = row.device,
                                 .whole_step = step,
                                 .cleared = Bytes{row.dims[0]},
                                 .median = row.median,
                                 .spread = row.spread,
                                 .samples = row.samples,
                                 .ranks = row.ranks});
    } else if (row.ranks < 2) {
        errors.push_back({where, row.kind + " takes two ranks or more", "the column ranks"});
    } else {
        profile.transfers.push_back({.device = row.device,
                                     .time = {.kind = *transfer,
                                              .wire = row.dtype,
                                              .bytes = Bytes{row.dims[0]},
                                              .ranks = row.ranks,
                                              .median = row.median,
                                              .spread = row.spread,
                                              .samples = row.samples}});
    }
}

ResultOrErrors<MachineProfile> profile_of(const ResultOrErrors<std::vector<CsvRow>>& rows) {
    if (!rows) {
        return unexpected<Errors>(rows.error());
    }
    std::set<decltype(Row{}.key())> seen;
    MachineProfile profile;
    Errors errors;
    for (const CsvRow& line : *rows) {
        const std::size_t before = errors.size();
        const Row row = row_of(line, errors);
        const auto kind = kernel_kind(row.kind);
        if (errors.size() > before) {
            continue;
        }
        if (kind) {
            add_kernel(row, *kind, line.where, profile, errors);
        } else {
            add_other(row, line.where, profile, errors);
        }
        if (errors.size() == before && !seen.insert(row.key()).second) {
            errors.push_back({line.where,
                              "this " + std::string{kind ? "kernel" : "row"} + " was given before",
                              "keep one row of the two"});
        }
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return profile;
}

ResultOrErrors<Profile> kernels_of(ResultOrErrors<MachineProfile> profile) {
    if (!profile) {
        return unexpected<Errors>(std::move(profile.error()));
    }
    return std::move(profile->kernels);
}

std::string line_of(const Row& row) {
    std::string text = row.device + "," + row.kind + "," + std::string(name(row.dtype)) + "," +
                       std::to_string(row.variant);
    for (const std::int64_t dimension : row.dims) {
        text += "," + std::to_string(dimension);
    }
    // Exact to the picosecond: microseconds with six decimals.
    const std::int64_t ps = row.median.picoseconds();
    std::array<char, 96> rest{};
    std::snprintf(rest.data(),
                  rest.size(),
                  ",%lld.%06lld,%.17g,%lld,%u\n",
                  static_cast<long long>(ps / 1'000'000),
                  static_cast<long long>(ps % 1'000'000),
                  row.spread,
                  static_cast<long long>(row.samples),
                  row.ranks);
    return text + rest.data();
}

}  // namespace

ResultOrErrors<MachineProfile> read_machine_profile(const std::string& path) {
    return profile_of(read_csv(path, kProfileColumns));
}

ResultOrErrors<MachineProfile> read_machine_profile(std::istream& text, const std::string& name) {
    return profile_of(read_csv(text, name, kProfileColumns));
}

ResultOrErrors<Profile> read_profile(const std::string& path) {
    return kernels_of(read_machine_profile(path));
}

ResultOrErrors<Profile> read_profile(std::istream& text, const std::string& name) {
    return kernels_of(read_machine_profile(text, name));
}

std::string profile_csv(const MachineProfile& profile, const std::string& provenance) {
    std::string text;
    std::istringstream lines(provenance);
    for (std::string line; std::getline(lines, line);) {
        text += "# " + line + "\n";
    }
    for (std::size_t i = 0; i < kProfileColumns.size(); ++i) {
        text += (i == 0 ? "" : ",") + name_of_column(i);
    }
    text += "\n";
    for (const ProfileEntry& entry : profile.kernels) {
        text += line_of({.device = entry.device,
                         .kind = std::string(name(entry.call.kind)),
                         .dtype = entry.call.dtype,
                         .variant = entry.call.variant,
                         .dims = entry.call.dims,
                         .median = entry.median,
                         .spread = entry.spread,
                         .samples = entry.samples,
                         .ranks = entry.ranks});
    }
    for (const auto& [device, time] : profile.transfers) {
        text += line_of({.device = device,
                         .kind = std::string(name(time.kind)),
                         .dtype = time.wire,
                         .dims = {time.bytes.count()},
                         .median = time.median,
                         .spread = time.spread,
                         .samples = time.samples,
                         .ranks = time.ranks});
    }
    for (const HostEntry& entry : profile.hosts) {
        text += line_of({.device = entry.device,
                         .kind = std::string(entry.whole_step ? kHostStep : kHostOp),
                         .dims = {entry.cleared.count()},
                         .median = entry.median,
                         .spread = entry.spread,
                         .samples = entry.samples,
                         .ranks = entry.ranks});
    }
    return text;
}

std::string profile_csv(const Profile& profile, const std::string& provenance) {
    return profile_csv(MachineProfile{.kernels = profile, .transfers = {}, .hosts = {}},
                       provenance);
}

}  // namespace orrery
