// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/model_description.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <type_traits>
#include <utility>

namespace orrery {
namespace {

// Words of each enumeration, by value.
template <class T>
constexpr std::string_view kWords[] = {""};
template <>
constexpr std::string_view kWords<Normalization>[] = {"layernorm", "rmsnorm"};
template <>
constexpr std::string_view kWords<PositionEmbedding>[] = {"learned", "rope", "none"};
template <>
constexpr std::string_view kWords<Activation>[] = {"gelu", "squared_relu", "swiglu", "geglu"};
template <>
constexpr std::string_view kWords<bool>[] = {"false", "true"};

template <class T>
std::string text_of(const T& value) {
    if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, double>) {
        return fmt::format("{}", value);
    } else {
        return std::string{kWords<T>[static_cast<std::size_t>(value)]};
    }
}

template <class T>
bool parse(std::string_view text, T& value) {
    if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, double>) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        return error == std::errc{} && end == text.data() + text.size() && value >= 0 &&
               value < T{1'000'000'000'000};
    } else {
        for (std::size_t i = 0; i < std::size(kWords<T>); ++i) {
            if (text == kWords<T>[i]) {
                value = static_cast<T>(i);
                return true;
            }
        }
        return false;
    }
}

// Calls `visit(key, member)` for every member but the name.
template <class Model, class Visit>
void visit_members(Model& m, Visit visit) {
    visit("num_layers", m.num_layers);
    visit("hidden_size", m.hidden_size);
    visit("ffn_hidden_size", m.ffn_hidden_size);
    visit("num_attention_heads", m.num_attention_heads);
    visit("num_query_groups", m.num_query_groups);
    visit("kv_channels", m.kv_channels);
    visit("seq_length", m.seq_length);
    visit("vocab_size", m.vocab_size);
    visit("normalization", m.normalization);
    visit("position_embedding", m.position_embedding);
    visit("activation", m.activation);
    visit("add_bias_linear", m.add_bias_linear);
    visit("tied_embeddings", m.tied_embeddings);
    visit("parallel_block", m.parallel_block);
    visit("dropout", m.dropout);
    visit("sliding_window", m.sliding_window);
    visit("sliding_window_every", m.sliding_window_every);
}

}  // namespace

ModelDescription describe_model(const Transformer& model) {
    ModelDescription description;
    visit_members(model,
                  [&](const char* key, const auto& value) { description[key] = text_of(value); });
    return description;
}

Result<Transformer> model_of_description(const ModelDescription& description) {
    Transformer model;
    std::string wrong;
    visit_members(model, [&](const char* key, auto& value) {
        const auto found = description.find(key);
        if (wrong.empty() && (found == description.end() || !parse(found->second, value))) {
            wrong = fmt::format("has no good value for the model's {}", key);
        }
    });
    if (!wrong.empty()) {
        return fail("", std::move(wrong));
    }
    return model;
}

std::vector<std::string> differences(const ModelDescription& there, const ModelDescription& here) {
    std::vector<std::string> all;
    for (const auto& [key, value] : here) {
        const auto found = there.find(key);
        const std::string other = found == there.end() ? "unknown" : found->second;
        if (other != value) {
            all.push_back(fmt::format("{} is {} there and {} here", key, other, value));
        }
    }
    return all;
}

}  // namespace orrery
