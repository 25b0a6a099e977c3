// SPDX-License-Identifier: Apache-2.0
// The section `search` of a file of kind serving.
#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/read_serving.h"

namespace orrery {
namespace {

constexpr Choice<PoolArrangement> kArrangements[] = {
    {"aggregated", PoolArrangement::aggregated},
    {"disaggregated", PoolArrangement::disaggregated},
};
constexpr Choice<PoolObjective> kPoolObjectives[] = {
    {"rate", PoolObjective::rate},
    {"cost", PoolObjective::cost},
    {"energy", PoolObjective::energy},
};

template <auto kMember>
constexpr Key listed_sizes(std::string_view name,
                           std::string_view meaning,
                           std::string_view default_words) {
    Key row = plain(name, KeyShape::integer, meaning).range(1, 1024);
    row.read = [](MapReader& reader, const Key& of, void* object) {
        return key_detail::read_value(reader, of, key_detail::value_of<kMember>(object));
    };
    return row.or_list().by(default_words);
}

constexpr Key arrangements_row() {
    Key row = plain_choice<kArrangements>("pools",
                                          "One pool, or one for prompts and one that "
                                          "generates.")
                  .or_list();
    row.read = [](MapReader& reader, const Key& of, void* object) {
        auto& values = key_detail::value_of<&PoolSearch::arrangements>(object);
        return reader.choices(of.name, values, kArrangements);
    };
    return row.by("both");
}

constexpr Key kPoolSearchRows[] = {
    listed_sizes<&PoolSearch::tensor_model_parallel_size>("tensor_model_parallel_size",
                                                          "Ranks that share each layer.",
                                                          "powers of two within a node"),
    listed_sizes<&PoolSearch::pipeline_model_parallel_size>(
        "pipeline_model_parallel_size", "Pipeline stages of an instance.", "as serving.pools says"),
    arrangements_row(),
    choice<kPoolObjectives, &PoolSearch::objective>(
        "objective", "What the best pools are best at, with serving.objectives met."),
    key<&PoolSearch::keep>("keep", "Pools in the answer.").range(1, 1000),
};

}  // namespace

const KeyTable<PoolSearch> kPoolSearchKeys =
    key_table<PoolSearch>("pool_search", kPoolSearchRows, "{objective: rate, keep: 5}");

void read_pool_search(const DocumentNode& section, PoolSearch& search, Errors& errors) {
    read_map(section, "search", kPoolSearchKeys, search, errors);
}

}  // namespace orrery
