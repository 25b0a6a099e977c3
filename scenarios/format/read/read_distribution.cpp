// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/read_distribution.h"

#include <fmt/format.h>

#include "scenarios/format/document/wall_time_text.h"

namespace orrery {

bool read_wall_time(
    MapReader& reader, std::string_view key, WallTime& value, WallTime least, Presence presence) {
    const DocumentNode* node = reader.find(key, presence);
    if (node == nullptr) {
        return false;
    }
    if (!node->is_scalar()) {
        reader.complain(
            key,
            fmt::format(
                "{} must be a span of time, not {}", reader.full_name(key), node->describe()),
            "like 10 min");
        return false;
    }
    const Result<WallTime> time = parse_wall_time(node->text);
    if (!time) {
        reader.complain(key, reader.full_name(key) + ": " + time.error().what, time.error().hint);
        return false;
    }
    if (*time < least) {
        reader.complain(key,
                        fmt::format("{} is {}, too short", reader.full_name(key), node->text),
                        fmt::format("at least {}", to_short_text(least)));
        return false;
    }
    value = *time;
    return true;
}

bool read_wall_time(MapReader& reader, std::string_view key, std::optional<WallTime>& value) {
    WallTime time;
    if (!read_wall_time(reader, key, time)) {
        return false;
    }
    value = time;
    return true;
}

bool read_distribution(MapReader& reader,
                       std::string_view key,
                       Distribution& value,
                       Errors& errors) {
    const DocumentNode* node = reader.find(key);
    if (node == nullptr) {
        return false;
    }
    constexpr WallTime kLeast = WallTime::microseconds(1);
    if (!node->is_map()) {
        WallTime fixed;
        if (!read_wall_time(reader, key, fixed, kLeast)) {
            return false;
        }
        value = {.kind = DistributionKind::fixed, .scale = fixed};
        return true;
    }
    const std::size_t before = errors.size();
    MapReader map{*node, reader.full_name(key), errors};
    WallTime mean;
    WallTime median;
    double sigma = 0;
    double shape = 0;
    const bool has_mean = read_wall_time(map, "mean", mean, kLeast);
    const bool has_median = read_wall_time(map, "median", median, kLeast);
    const bool has_sigma = map.real("sigma", sigma, kSigmas.least, kSigmas.most);
    const bool has_shape = map.real("shape", shape, kWeibullShapes.least, kWeibullShapes.most);
    map.finish();
    if (errors.size() != before) {
        return false;
    }
    if (has_mean == has_median || (has_median && !has_sigma) || (has_sigma && has_shape)) {
        reader.complain(key,
                        reader.full_name(key) + " is no distribution",
                        "5 d, {mean: 5 d}, {median: 5 d, sigma: 1.9} or {mean: 5 d, shape: 0.5}");
        return false;
    }
    if (has_median) {
        value = {.kind = DistributionKind::lognormal, .scale = median, .shape = sigma};
    } else if (has_sigma) {
        value = with_mean(DistributionKind::lognormal, mean, sigma);
    } else if (has_shape) {
        value = with_mean(DistributionKind::weibull, mean, shape);
    } else {
        value = {.kind = DistributionKind::exponential, .scale = mean};
    }
    return true;
}

}  // namespace orrery
