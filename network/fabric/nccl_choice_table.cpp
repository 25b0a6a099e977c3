// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/nccl_choice_table.h"

#include <array>
#include <tuple>

namespace orrery {

std::string_view name(NcclAlgorithm algorithm) {
    constexpr std::array<std::string_view, kNumNcclAlgorithms> kNames{
        "tree", "ring", "nvls", "nvls_tree", "pat"};
    return kNames[static_cast<std::size_t>(algorithm)];
}

std::string_view name(NcclProtocol protocol) {
    constexpr std::array<std::string_view, kNumNcclProtocols> kNames{"LL", "LL128", "Simple"};
    return kNames[static_cast<std::size_t>(protocol)];
}

std::string_view name(NcclFunction function) {
    constexpr std::array<std::string_view, kNumNcclFunctions> kNames{
        "broadcast", "reduce", "all_gather", "reduce_scatter", "all_reduce"};
    return kNames[static_cast<std::size_t>(function)];
}

std::optional<NcclCombination> choice_of_table(const NcclChoiceTable& table,
                                               NcclFunction function,
                                               std::uint32_t num_nodes,
                                               std::uint32_t num_ranks,
                                               std::int64_t bytes) {
    const NcclChoiceRow* best = nullptr;
    for (const NcclChoiceRow& row : table) {
        const bool holds = row.function == function && row.ranks <= num_ranks &&
                           std::uint64_t{row.ranks_per_node} * num_nodes == num_ranks &&
                           row.bytes <= bytes;
        if (holds && (best == nullptr ||
                      std::tie(row.ranks, row.bytes) > std::tie(best->ranks, best->bytes))) {
            best = &row;
        }
    }
    return best == nullptr ? std::nullopt : best->choice;
}

}  // namespace orrery
