// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/scenario_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "scenarios/format/document/key_synonyms.h"

namespace orrery {
namespace {

ScenarioKey key_named(const std::string& name) {
    const std::vector<ScenarioKey> keys = scenario_keys();
    const auto found = std::ranges::find(keys, name, &ScenarioKey::key);
    EXPECT_NE(found, keys.end()) << name;
    return found == keys.end() ? ScenarioKey{} : *found;
}

TEST(ScenarioKeys, HaveASentenceAndValuesEach) {
    std::set<std::string> names;
    std::set<std::string> flags;
    std::set<std::string> short_names;
    for (const ScenarioKey& key : scenario_keys()) {
        EXPECT_TRUE(names.insert(key.key).second) << key.key;
        EXPECT_TRUE(key.short_name.empty() || short_names.insert(key.short_name).second) << key.key;
        EXPECT_TRUE(key.meaning.ends_with('.')) << key.key;
        EXPECT_FALSE(key.values.empty()) << key.key;
        EXPECT_EQ(key.default_value.empty(), key.use != FieldUse::optional) << key.key;
        for (const std::string& flag : key.flags) {
            EXPECT_TRUE(flag.starts_with("--")) << flag;
            EXPECT_TRUE(flags.insert(flag).second) << flag;
        }
    }
    EXPECT_GE(names.size(), 300u);
}

TEST(ScenarioKeys, SayWhatTheTableSays) {
    const ScenarioKey batch = key_named("plan.micro_batch_size");
    EXPECT_EQ(batch.section(), "plan");
    EXPECT_EQ(batch.use, FieldUse::required);
    EXPECT_EQ(batch.short_name, "mbs");
    EXPECT_EQ(batch.flags, std::vector<std::string>{"--micro-batch-size"});
    EXPECT_TRUE(batch.searched);
    EXPECT_EQ(key_named("plan.recompute_modules").default_value, "[core_attn]");
    EXPECT_EQ(key_named("plan.data_parallel_size").use, FieldUse::derived);
    EXPECT_EQ(key_named("plan.precision").flags.size(), 4u);
    EXPECT_EQ(key_named("model.ffn_hidden_size").default_value, "4 * hidden_size");
    // The key says the opposite of the field tied_embeddings.
    EXPECT_EQ(key_named("model.untie_embeddings_and_output_weights").default_value, "false");
    EXPECT_EQ(key_named("model.dropout").values, "0 to 0.999");
}

// Of each shape, the default of the struct.
TEST(ScenarioKeys, HaveTheDefaultsOfTheirStructs) {
    EXPECT_EQ(key_named("campaign.repair.time").default_value, "1 d");
    EXPECT_EQ(key_named("campaign.storage.write_bandwidth").default_value, "100 GB/s");
    EXPECT_EQ(key_named("cluster.fabric.nic_latency").default_value, "0 ps");
    EXPECT_EQ(key_named("network.packet.dcqcn.byte_counter").default_value, "0 B");
    EXPECT_EQ(key_named("network.packet.packet_size").default_value, "4150 B");
    EXPECT_EQ(key_named("network.convergence").default_value, "100 ms");
    EXPECT_EQ(key_named("recovery.checkpoint.mode").default_value, "async");
    EXPECT_EQ(key_named("recovery.policies[].spares.quantile").default_value, "0.99");
    EXPECT_EQ(key_named("job.learning_rate").default_value, "0.001");
    EXPECT_EQ(key_named("cluster.node").default_value, "none");
}

TEST(ScenarioKeys, KnowTheMapsThatHaveAKey) {
    using Paths = std::vector<std::string>;
    EXPECT_EQ(maps_with_key("global_batch_size"), Paths{"plan"});
    EXPECT_EQ(maps_with_key("campaign"), Paths{""});
    EXPECT_EQ(maps_with_key("units_min"), Paths{"recovery.policies[].elastic"});
    EXPECT_EQ(maps_with_key("data_parallel_size"), Paths{"serving.pools"}) << "not of a plan";
    EXPECT_EQ(maps_with_key("no_such_key"), Paths{});
}

// A table and what reads it are one: each key that a section's table lists is known to its reader.
TEST(ScenarioKeys, OfFilesAreKnownToTheirReaders) {
    for (const FileKind& kind : file_kinds()) {
        const std::vector<ScenarioKey> keys = all_keys(*kind.keys);
        EXPECT_FALSE(keys.empty()) << kind.word;
        for (const ScenarioKey& key : keys) {
            EXPECT_TRUE(key.meaning.ends_with('.')) << kind.word << ' ' << key.key;
        }
    }
}

}  // namespace
}  // namespace orrery
