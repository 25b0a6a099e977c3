// SPDX-License-Identifier: Apache-2.0
// Algorithms and protocols that a network plugin's tuner chooses in place of NCCL (ncclTuner_v4 and
// later): aws-ofi-nccl has regions of bytes and ranks for its kinds of servers
// (src/tuner/nccl_ofi_regions.cpp). Each row holds from its number of ranks and its bytes on, up to
// the next. Between two listed numbers of ranks, the row of the lower one counts; the plugin
// interpolates.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace orrery {

enum class NcclAlgorithm : std::uint8_t { tree, ring, nvls, nvls_tree, pat };
inline constexpr std::size_t kNumNcclAlgorithms = 5;
enum class NcclProtocol : std::uint8_t { ll, ll128, simple };
inline constexpr std::size_t kNumNcclProtocols = 3;
enum class NcclFunction : std::uint8_t {
    broadcast,
    reduce,
    all_gather,
    reduce_scatter,
    all_reduce
};
inline constexpr std::size_t kNumNcclFunctions = 5;
std::string_view name(NcclAlgorithm algorithm);
std::string_view name(NcclProtocol protocol);
std::string_view name(NcclFunction function);

struct NcclCombination {
    NcclAlgorithm algorithm = NcclAlgorithm::ring;
    NcclProtocol protocol = NcclProtocol::simple;
    bool operator==(const NcclCombination&) const = default;
};

struct NcclChoiceRow {
    NcclFunction function = NcclFunction::all_reduce;
    std::uint32_t ranks_per_node = 1;
    std::uint32_t ranks = 2;
    std::int64_t bytes = 0;
    std::optional<NcclCombination> choice{};  // no value: NCCL's own
    bool operator==(const NcclChoiceRow&) const = default;
};

using NcclChoiceTable = std::vector<NcclChoiceRow>;

// No value if the table says nothing about such a call, or leaves it to NCCL.
std::optional<NcclCombination> choice_of_table(const NcclChoiceTable& table,
                                               NcclFunction function,
                                               std::uint32_t num_nodes,
                                               std::uint32_t num_ranks,
                                               std::int64_t bytes);

}  // namespace orrery
