// SPDX-License-Identifier: Apache-2.0
#include "kernels/profile.h"

#include <array>
#include <cstdio>
#include <set>
#include <sstream>
#include <tuple>

#include "kernels/catalogue.h"
#include "kernels/csv_rows.h"

namespace orrery {

namespace {

const std::vector<std::string> kColumns{"device",
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
                                        "samples"};
constexpr std::size_t kFirstDimension = 4;

// Appends an error and returns zero if the field is not a number in [lowest, …).
double number(const CsvRow& row, std::size_t column, double lowest, Errors& errors) {
    const auto value = parse_number(row.fields[column]);
    if (!value || *value < lowest) {
        errors.push_back({row.where,
                          kColumns[column] + " '" + row.fields[column] + "' is not a number" +
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
                          kColumns[column] + " '" + row.fields[column] +
                              "' is not a whole number >= " + std::to_string(lowest),
                          ""});
        return 0;
    }
    return *value;
}

ProfileEntry entry_of(const CsvRow& row, Errors& errors) {
    const std::size_t before = errors.size();
    const auto kind = kernel_kind(row.fields[1]);
    const auto dtype = dtype_named(row.fields[2]);
    if (!kind) {
        errors.push_back({row.where, "unknown kernel kind '" + row.fields[1] + "'", ""});
    }
    if (!dtype) {
        errors.push_back({row.where, "unknown dtype '" + row.fields[2] + "'", ""});
    }
    if (row.fields[0].empty()) {
        errors.push_back({row.where, "device is empty", ""});
    }
    const std::int64_t variant = whole(row, 3, 0, errors);
    std::array<std::int64_t, 6> dims{};
    for (std::size_t i = 0; i < dims.size(); ++i) {
        dims[i] = whole(row, kFirstDimension + i, 0, errors);
    }
    constexpr double kShortest_us = 1e-6;
    constexpr double kLongest_us = 1e12;
    const double time_us = number(row, 10, kShortest_us, errors);
    if (time_us > kLongest_us) {
        errors.push_back({row.where, "time_us " + row.fields[10] + " is over ten days", ""});
    }
    ProfileEntry entry{.device = row.fields[0],
                       .call = {},
                       .median = Time::seconds(time_us * 1e-6),
                       .spread = number(row, 11, 0, errors),
                       .samples = whole(row, 12, 1, errors)};
    if (errors.size() > before) {
        return entry;
    }
    const auto call = variant < 256
                          ? call_from_key(*kind, *dtype, static_cast<std::uint8_t>(variant), dims)
                          : std::nullopt;
    if (!call) {
        errors.push_back({row.where,
                          "no " + row.fields[1] + " has this variant and these dimensions",
                          "see the header in kernels/ that documents the kernel"});
        return entry;
    }
    entry.call = *call;
    return entry;
}

ResultOrErrors<Profile> profile_of(const ResultOrErrors<std::vector<CsvRow>>& rows) {
    if (!rows) {
        return unexpected<Errors>(rows.error());
    }
    using Key =
        std::tuple<std::string, KernelKind, Dtype, std::uint8_t, std::array<std::int64_t, 6>>;
    std::set<Key> seen;
    Profile profile;
    Errors errors;
    for (const CsvRow& row : *rows) {
        const std::size_t before = errors.size();
        ProfileEntry entry = entry_of(row, errors);
        if (errors.size() > before) {
            continue;
        }
        const KernelCall& call = entry.call;
        if (!seen.insert({entry.device, call.kind, call.dtype, call.variant, call.dims}).second) {
            errors.push_back(
                {row.where, "this kernel was given before", "keep one row of the two"});
        }
        profile.push_back(std::move(entry));
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return profile;
}

}  // namespace

ResultOrErrors<Profile> read_profile(const std::string& path) {
    return profile_of(read_csv(path, kColumns));
}

ResultOrErrors<Profile> read_profile(std::istream& text, const std::string& name) {
    return profile_of(read_csv(text, name, kColumns));
}

std::string profile_csv(const Profile& profile, const std::string& provenance) {
    std::string text;
    std::istringstream lines(provenance);
    for (std::string line; std::getline(lines, line);) {
        text += "# " + line + "\n";
    }
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
        text += (i == 0 ? "" : ",") + kColumns[i];
    }
    text += "\n";
    for (const ProfileEntry& entry : profile) {
        text += entry.device + "," + std::string(name(entry.call.kind)) + "," +
                std::string(name(entry.call.dtype)) + "," + std::to_string(entry.call.variant);
        for (const std::int64_t dimension : entry.call.dims) {
            text += "," + std::to_string(dimension);
        }
        // Picoseconds exactly: a microsecond with six decimals.
        const std::int64_t ps = entry.median.picoseconds();
        std::array<char, 96> rest{};
        std::snprintf(rest.data(),
                      rest.size(),
                      ",%lld.%06lld,%.17g,%lld\n",
                      static_cast<long long>(ps / 1'000'000),
                      static_cast<long long>(ps % 1'000'000),
                      entry.spread,
                      static_cast<long long>(entry.samples));
        text += rest.data();
    }
    return text;
}

}  // namespace orrery
