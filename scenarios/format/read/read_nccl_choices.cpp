// SPDX-License-Identifier: Apache-2.0
// cluster.fabric.nccl_choices: what a network plugin's tuner chooses (nccl_choice_table.h). Columns
//   collective      all_reduce, all_gather or reduce_scatter
//   ranks_per_node  of the communicator, equal on all its nodes
//   ranks, bytes    from this many on
//   algorithm       tree, ring, nvls_tree or pat; empty: NCCL's own choice
//   protocol        LL, LL128 or Simple; empty with the algorithm
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "scenarios/format/read/fabric_table.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {
namespace {

// Bytes of a call and ranks beyond these are mistakes.
constexpr std::int64_t kChoiceBytesMax = std::int64_t{1} << 50;
constexpr std::int64_t kChoiceRanksMax = std::int64_t{1} << 24;

// Finds the value of an enumeration by its name. An error lists the names.
template <typename Enum, std::size_t N>
std::optional<Enum> named(const std::string& word,
                          const char* column,
                          const Enum (&values)[N],
                          const CsvRow& row,
                          Errors& errors) {
    std::string known;
    for (const Enum value : values) {
        if (name(value) == word) {
            return value;
        }
        known += fmt::format("{}{}", known.empty() ? "" : ", ", name(value));
    }
    errors.push_back({row.where, fmt::format("there is no {} '{}'", column, word), known});
    return std::nullopt;
}

std::optional<std::int64_t> count_of(const std::string& field,
                                     const char* column,
                                     std::int64_t least,
                                     std::int64_t most,
                                     const CsvRow& row,
                                     Errors& errors) {
    const auto number = parse_integer(field);
    if (!number || *number < least || *number > most) {
        errors.push_back({row.where,
                          fmt::format("{} must be an integer, not '{}'", column, field),
                          fmt::format("{} to {}", least, most)});
        return std::nullopt;
    }
    return number;
}

std::optional<NcclChoiceRow> read_choice(const CsvRow& row, Errors& errors) {
    using F = NcclFunction;
    using A = NcclAlgorithm;
    using P = NcclProtocol;
    constexpr F kFunctions[] = {F::all_reduce, F::all_gather, F::reduce_scatter};
    constexpr A kAlgorithms[] = {A::tree, A::ring, A::nvls_tree, A::pat};
    constexpr P kProtocols[] = {P::ll, P::ll128, P::simple};
    const auto function = named(row.fields[0], "collective", kFunctions, row, errors);
    const auto per_node =
        count_of(row.fields[1], "ranks_per_node", 1, kChoiceRanksMax, row, errors);
    const auto ranks = count_of(row.fields[2], "ranks", 2, kChoiceRanksMax, row, errors);
    const auto bytes = count_of(row.fields[3], "bytes", 0, kChoiceBytesMax, row, errors);
    if (!function || !per_node || !ranks || !bytes) {
        return std::nullopt;
    }
    NcclChoiceRow choice{.function = *function,
                         .ranks_per_node = static_cast<std::uint32_t>(*per_node),
                         .ranks = static_cast<std::uint32_t>(*ranks),
                         .bytes = *bytes,
                         .choice = {}};
    if (row.fields[4].empty() && row.fields[5].empty()) {
        return choice;
    }
    const auto algorithm = named(row.fields[4], "algorithm", kAlgorithms, row, errors);
    const auto protocol = named(row.fields[5], "protocol", kProtocols, row, errors);
    if (!algorithm || !protocol) {
        return std::nullopt;
    }
    choice.choice = NcclCombination{*algorithm, *protocol};
    return choice;
}

}  // namespace

void check_network_plugin(MapReader& reader, const FabricSpec& fabric) {
    if (fabric.eager_size > Bytes{} && fabric.reported_latency == Time{}) {
        reader.complain("eager_size",
                        reader.full_name("eager_size") + " spares a reported latency that is zero",
                        "add 'reported_latency: 75 us'");
    }
}

void read_nccl_choices(const DocumentNode& map,
                       const std::filesystem::path& folder,
                       FabricSpec& fabric,
                       Errors& errors) {
    const DocumentNode* file = map.find("nccl_choices");
    if (file == nullptr) {
        return;
    }
    const auto table = open_fabric_table(
        *file,
        folder,
        "cluster.fabric.nccl_choices",
        {"collective", "ranks_per_node", "ranks", "bytes", "algorithm", "protocol"},
        errors);
    if (!table) {
        return;
    }
    for (const CsvRow& row : table->rows) {
        if (const auto choice = read_choice(row, errors)) {
            fabric.nccl_choices.push_back(*choice);
        }
    }
}

}  // namespace orrery
