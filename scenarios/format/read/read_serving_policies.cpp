// SPDX-License-Identifier: Apache-2.0
// The parts of `serving` other than its pools (scenarios/format/specs/serving_policies.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/serving/autoscaler.h"
#include "engine/serving/power_policy.h"
#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/read_serving.h"

namespace orrery {
namespace {

constexpr Choice<TierKind> kTierKinds[] = {
    {name(TierKind::dram), TierKind::dram},
    {name(TierKind::nvme), TierKind::nvme},
    {name(TierKind::remote), TierKind::remote},
};
constexpr Choice<EvictionPolicy> kEvictions[] = {
    {"lru", EvictionPolicy::lru},
    {"fifo", EvictionPolicy::fifo},
    {"lfu", EvictionPolicy::lfu},
};
constexpr Choice<TierWrites> kTierWrites[] = {
    {"evicted", TierWrites::evicted},
    {"computed", TierWrites::computed},
};
constexpr Choice<TierLoading> kTierLoadings[] = {
    {"layer_wise", TierLoading::layer_wise},
    {"ahead", TierLoading::ahead},
};

constexpr Key kCacheTierRows[] = {
    choice<kTierKinds, &CacheTierSpec::kind>(
        "kind", "Memory or drives of the server, or the memories of all servers as one pool.")
        .required(),
    key<&CacheTierSpec::capacity>("capacity", "Of each server.").by("the server's memory"),
    choice<kEvictions, &CacheTierSpec::eviction>("eviction", "Which block makes room."),
};
const KeyTable<CacheTierSpec> kCacheTierKeys =
    key_table<CacheTierSpec>("cache_tier", kCacheTierRows, "{kind: dram, capacity: 500 GB}");

constexpr Key kLowerCacheRows[] = {
    nested("tiers", KeyShape::map_list, kCacheTierKeys, "The upper one first."),
    choice<kTierWrites, &LowerCacheSpec::writes>("writes",
                                                 "When a block is written to the upper tier."),
    choice<kTierLoadings, &LowerCacheSpec::loading>(
        "loading", "How a request waits for what it loads: layer by layer, or before it begins."),
};

constexpr double kLargestSlowdown = 1e6;
constexpr Key kSlowdownRows[] = {
    key<&SlowdownObjective::p50>("p50", "Of 50 of 100 requests; 0: none.")
        .range(0.0, kLargestSlowdown),
    key<&SlowdownObjective::p90>("p90", "Of 90 of 100 requests; 0: none.")
        .range(0.0, kLargestSlowdown),
    key<&SlowdownObjective::p99>("p99", "Of 99 of 100 requests; 0: none.")
        .range(0.0, kLargestSlowdown),
};
const KeyTable<SlowdownObjective> kSlowdownKeys =
    key_table<SlowdownObjective>("slowdown_objective", kSlowdownRows, "{p50: 2, p90: 3, p99: 6}");

constexpr Key kObjectiveRows[] = {
    key<&ServingObjectives::ttft>("ttft", "Longest time to the first token."),
    key<&ServingObjectives::tpot>("tpot", "Longest mean time of an output token."),
    key<&ServingObjectives::e2e>("e2e", "Longest time to the last token."),
    key<&ServingObjectives::tbt>(
        "tbt", "Largest time between tokens: the mean of the longest tenth of a request's."),
    part<&ServingObjectives::ttft_slowdown>(
        "ttft_slowdown",
        kSlowdownKeys,
        "Largest time to the first token over that on an idle instance."),
    part<&ServingObjectives::tbt_slowdown>(
        "tbt_slowdown",
        kSlowdownKeys,
        "Largest mean time between a request's tokens over that on an idle instance."),
    part<&ServingObjectives::e2e_slowdown>(
        "e2e_slowdown",
        kSlowdownKeys,
        "Largest time to the last token over that on an idle instance."),
};

constexpr Choice<WeightSource> kWeightSources[] = {
    {"disk", WeightSource::disk},
    {"peer", WeightSource::peer},
};

constexpr Key kAutoscalerRows[] = {
    key<&AutoscalerSpec::policy>("policy", "What the number of instances follows."),
    key<&AutoscalerSpec::min_instances>("min_instances",
                                        "Instances of a pool at least; its instances are the most.")
        .range(1, 1'000'000)
        .of("instances"),
    key<&AutoscalerSpec::target>("target",
                                 "Of an instance: requests a second (rate), waiting requests "
                                 "(queue), share of the cache (cache); share of good requests "
                                 "(objectives).")
        .range(1e-6, 1e6),
    key<&AutoscalerSpec::interval>("interval", "Time between decisions.").above_zero("10 s"),
    key<&AutoscalerSpec::scale_down_delay>(
        "scale_down_delay", "Time for which fewer instances must have been enough."),
    choice<kWeightSources, &AutoscalerSpec::weights>(
        "weights", "Where a starting instance reads its weights: disks, or another instance."),
};

constexpr Key kRowPowerRows[] = {
    key<&RowPowerSpec::policy>("policy", "Who slows down when the row comes near its limit."),
    key<&RowPowerSpec::limit_watts>("limit_watts", "Power of all instances together.")
        .range(0.0, 1e12)
        .of("watts"),
    key<&RowPowerSpec::low_priority_share>(
        "low_priority_share", "Of the instances, the share that serves work of low priority.")
        .range(0.0, 1.0),
};

}  // namespace

const KeyTable<RowPowerSpec> kRowPowerKeys = key_table<RowPowerSpec>(
    "row_power", kRowPowerRows, "{policy: polca, limit_watts: 200000}");

const KeyTable<AutoscalerSpec> kAutoscalerKeys = key_table<AutoscalerSpec>(
    "autoscaler", kAutoscalerRows, "{policy: rate, target: 2, min_instances: 1}");

const KeyTable<ServingObjectives> kObjectiveKeys =
    key_table<ServingObjectives>("serving_objectives", kObjectiveRows, "{ttft: 2 s, tpot: 200 ms}");
const KeyTable<LowerCacheSpec> kLowerCacheKeys = key_table<LowerCacheSpec>(
    "lower_cache", kLowerCacheRows, "{tiers: [{kind: dram}], writes: computed}");

void check_name(MapReader& reader,
                const char* key,
                const std::string& value,
                const std::vector<std::string_view>& names) {
    if (std::ranges::find(names, value) == names.end()) {
        reader.complain(key,
                        fmt::format("{} can't be '{}'", reader.full_name(key), value),
                        fmt::format("{}", fmt::join(names, ", ")));
    }
}

namespace {

// An error for the other keys of a map without a policy, because they have no effect.
void need_policy(MapReader& reader, const char* hint) {
    if (!reader.has("policy") && !reader.map().keys.empty()) {
        reader.complain("policy",
                        fmt::format("{} is missing, and the keys beside it need it",
                                    reader.full_name("policy")),
                        hint);
    }
}

}  // namespace

void read_autoscaler(const DocumentNode& map, ServingSpec& spec, Errors& errors) {
    if (!map.is_map()) {
        errors.push_back({map.where(),
                          "serving.autoscaler must be a map, not " + map.describe(),
                          std::string{kAutoscalerKeys.example}});
        return;
    }
    MapReader reader{map, "serving.autoscaler", errors};
    read_keys(reader, kAutoscalerKeys, spec.autoscaler);
    check_name(reader, "policy", spec.autoscaler.policy, autoscaler_names());
    need_policy(reader, "rate");
    // Decisions are made throughout the load, whose clock ends after 106 days.
    constexpr Time kShortest = Time::seconds(1e-3);
    constexpr Time kLongest = Time::seconds(1e6);
    if (spec.autoscaler.interval < kShortest || spec.autoscaler.interval > kLongest) {
        reader.complain(
            "interval", "serving.autoscaler.interval is from 1 ms to 1000000 s", "10 s");
    }
    limit_time(reader, "scale_down_delay", spec.autoscaler.scale_down_delay, kLongest, "60 s");
    reader.finish();
}

void read_row_power(const DocumentNode& map, ServingSpec& spec, Errors& errors) {
    if (!map.is_map()) {
        errors.push_back({map.where(),
                          "serving.power must be a map, not " + map.describe(),
                          std::string{kRowPowerKeys.example}});
        return;
    }
    MapReader reader{map, "serving.power", errors};
    read_keys(reader, kRowPowerKeys, spec.power);
    check_name(reader, "policy", spec.power.policy, power_policy_names());
    need_policy(reader, "polca");
    if (spec.power.policy != "none" && spec.power.limit_watts == 0) {
        reader.complain("policy", "serving.power needs a limit", "limit_watts: 200000");
    }
    if (spec.power.policy != "none" && spec.busy_watts == 0) {
        reader.complain("policy",
                        "serving.power needs the power of a GPU that computes",
                        "serving.busy_watts: 1000");
    }
    reader.finish();
}

void read_lower_cache(const DocumentNode& map, LowerCacheSpec& cache, Errors& errors) {
    if (!map.is_map()) {
        errors.push_back({map.where(),
                          "serving.cache must be a map, not " + map.describe(),
                          std::string{kLowerCacheKeys.example}});
        return;
    }
    MapReader reader{map, "serving.cache", errors};
    read_keys(reader, kLowerCacheKeys, cache);
    if (const DocumentNode* tiers = reader.find("tiers")) {
        if (!tiers->is_sequence()) {
            reader.complain("tiers",
                            "serving.cache.tiers must be a list",
                            fmt::format("[{}]", kCacheTierKeys.example));
        }
        for (std::size_t i = 0; tiers->is_sequence() && i < tiers->items.size(); ++i) {
            CacheTierSpec tier;
            const std::string path = fmt::format("serving.cache.tiers[{}]", i);
            read_map(tiers->items[i], path, kCacheTierKeys, tier, errors);
            cache.tiers.push_back(tier);
        }
    }
    for (const char* const key : {"writes", "loading"}) {
        if (reader.has(key) && !reader.has("tiers")) {
            reader.complain(key,
                            fmt::format("{} is of tiers below the cache", reader.full_name(key)),
                            fmt::format("tiers: [{}]", kCacheTierKeys.example));
        }
    }
    reader.finish();
}

}  // namespace orrery
