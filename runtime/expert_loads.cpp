// SPDX-License-Identifier: Apache-2.0
#include "runtime/expert_loads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>

namespace orrery {
namespace {

// The layer of "layers.N.mlp.router.load" (models/blocks/fused_experts.cpp).
std::optional<std::int64_t> layer_of_load(std::string_view tensor) {
    constexpr std::string_view kBegin = "layers.";
    constexpr std::string_view kEnd = ".mlp.router.load";
    std::int64_t layer = 0;
    if (!tensor.starts_with(kBegin) || !tensor.ends_with(kEnd)) {
        return std::nullopt;
    }
    const auto [end, error] =
        std::from_chars(tensor.data() + kBegin.size(), tensor.data() + tensor.size(), layer);
    return error == std::errc{} ? std::optional{layer} : std::nullopt;
}

// The end of the step has summed over the ranks of a stage, so that its first rank reports.
bool first_of_stage(const Program& program, RankId rank) {
    const Party& party = program.parties[program.party_of(rank)];
    bool first = true;
    for (std::uint32_t digit = 0; digit < party.mesh.digits().size(); ++digit) {
        first = first && (digit == party.role_digit || party.mesh.coordinate(rank, digit) == 0);
    }
    return first;
}

std::int64_t sum_of_tokens(const std::vector<std::int64_t>& tokens) {
    return std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0});
}

}  // namespace

Result<std::vector<ExpertLoad>> expert_loads(Executor& executor) {
    const Program& program = executor.program();
    std::map<std::int64_t, TensorId> tensors;
    for (std::size_t t = 0; t < program.tensors.size(); ++t) {
        if (const auto layer = layer_of_load(program.tensors[t].name)) {
            tensors[*layer] = to_id<TensorId>(t);
        }
    }
    std::vector<float> all;
    const bool tells = first_of_stage(program, executor.rank());
    for (const auto& [layer, id] : tensors) {
        const auto size = static_cast<std::size_t>(program.tensors[index(id)].global_shape[1]);
        all.resize(all.size() + size, 0.0f);
        if (tells && executor.has(id)) {
            load_row(executor.read(id), 0, std::span{all}.last(size));
        }
    }
    if (Communicator* const ranks = executor.world(); ranks != nullptr && !all.empty()) {
        if (const Result<void> done = ranks->all_reduce(view_of(std::span{all})); !done) {
            return unexpected<Error>(done.error());
        }
    }
    std::vector<ExpertLoad> loads;
    std::span<const float> rest{all};
    const auto take = [&](std::size_t count) {
        std::vector<std::int64_t> tokens;
        for (const float value : rest.first(count)) {
            tokens.push_back(std::llround(value));
        }
        rest = rest.subspan(count);
        return tokens;
    };
    for (const auto& [layer, id] : tensors) {
        const auto experts =
            static_cast<std::size_t>(program.tensors[index(id)].global_shape[1]) / 2;
        std::vector<std::int64_t> chosen = take(experts);
        loads.push_back({layer, std::move(chosen), take(experts)});
    }
    return loads;
}

LoadSummary summary_of(const std::vector<ExpertLoad>& loads) {
    LoadSummary summary;
    std::int64_t chosen = 0;
    std::int64_t taken = 0;
    for (const ExpertLoad& load : loads) {
        const std::int64_t sum = sum_of_tokens(load.chosen);
        chosen += sum;
        taken += sum_of_tokens(load.taken);
        if (sum > 0) {
            const double mean = static_cast<double>(sum) / static_cast<double>(load.chosen.size());
            summary.max_over_mean = std::max(
                summary.max_over_mean, static_cast<double>(std::ranges::max(load.chosen)) / mean);
        }
    }
    summary.dropped =
        chosen > 0 ? 1 - static_cast<double>(taken) / static_cast<double>(chosen) : 0.0;
    return summary;
}

std::string json_of(const std::vector<ExpertLoad>& loads) {
    std::vector<std::string> layers;
    for (const ExpertLoad& load : loads) {
        layers.push_back(fmt::format("{{\"layer\":{},\"chosen\":[{}],\"taken\":[{}]}}",
                                     load.layer,
                                     fmt::join(load.chosen, ","),
                                     fmt::join(load.taken, ",")));
    }
    return fmt::format("[{}]", fmt::join(layers, ","));
}

}  // namespace orrery
