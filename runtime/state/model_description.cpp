// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/model_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <type_traits>
#include <utility>

#include "models/transformer/transformer_fields.h"

namespace orrery {
namespace {

constexpr std::string_view kTrue = "true";
constexpr std::string_view kFalse = "false";

template <class T>
std::string text_of(const ModelField<T>& field, const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
        return std::string{value ? kTrue : kFalse};
    } else if constexpr (std::is_enum_v<T>) {
        return std::string{word_of(value, field.values)};
    } else {
        return fmt::format("{}", value);
    }
}

template <class T>
bool parse(const ModelField<T>& field, std::string_view text, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
        value = text == kTrue;
        return value || text == kFalse;
    } else if constexpr (std::is_enum_v<T>) {
        const auto known = std::ranges::find(field.values, text, &Choice<T>::word);
        if (known != field.values.end()) {
            value = known->value;
        }
        return known != field.values.end();
    } else {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        return error == std::errc{} && end == text.data() + text.size() && value >= 0 &&
               value < T{1'000'000'000'000};
    }
}

// Calls `visit` for each field except the name.
template <class Visit>
void visit_fields(Visit visit) {
    for_each_model_field([&](const auto& field) {
        if constexpr (!std::is_same_v<decltype(field.member), std::string Transformer::*>) {
            visit(field);
        }
    });
}

}  // namespace

ModelDescription describe_model(const Transformer& model) {
    ModelDescription description;
    visit_fields([&](const auto& field) {
        description[std::string{field.field}] = text_of(field, model.*field.member);
    });
    return description;
}

Result<Transformer> model_of_description(const ModelDescription& description) {
    Transformer model;
    std::string wrong;
    visit_fields([&](const auto& field) {
        const auto found = description.find(std::string{field.field});
        if (wrong.empty() &&
            (found == description.end() || !parse(field, found->second, model.*field.member))) {
            wrong = fmt::format("has no good value for the model's {}", field.field);
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
