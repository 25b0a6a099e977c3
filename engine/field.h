// SPDX-License-Identifier: Apache-2.0
// What a table of a struct's fields says of each of them: the name that users write, the values
// that it may have, and what it means. A struct has one such table (models/plan_fields.h), and
// whatever reads, writes or lists its fields does it by the table. A row is an aggregate of
//   name, member   the key, and the pointer to the member
//   values         its range or its words (FieldValues)
//   use            required, optional, derived
//   meaning        one sentence; and what else the struct's users want to know
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace orrery {

// One word of a choice. The first word of a value is the one that messages list.
template <class T>
struct Choice {
    std::string_view word;
    T value;
};

template <class T>
using Choices = std::span<const Choice<T>>;

// The first word of a value; empty if it has none.
template <class T>
constexpr std::string_view word_of(T value, std::type_identity_t<Choices<T>> choices) {
    for (const Choice<T>& choice : choices) {
        if (choice.value == value) {
            return choice.word;
        }
    }
    return {};
}

struct IntegerRange {
    std::int64_t least = 1;
    std::int64_t most = 1'000'000'000;
};
struct RealRange {
    double least = 0;
    double most = 0;
};
struct Unlimited {};

// The values of a field: a range of numbers or of a list's numbers, the words of a choice. The
// words of a std::uint32_t are bits, any set of which is a value.
template <class T>
struct FieldValues {
    using Type = Unlimited;
};
template <>
struct FieldValues<std::int64_t> {
    using Type = IntegerRange;
};
template <>
struct FieldValues<std::vector<std::int64_t>> {
    using Type = IntegerRange;
};
template <>
struct FieldValues<double> {
    using Type = RealRange;
};
template <>
struct FieldValues<std::uint32_t> {
    using Type = Choices<std::uint32_t>;
};
template <class T>
requires std::is_enum_v<T>
struct FieldValues<T> {
    using Type = Choices<T>;
};

// The type of a member.
template <class Member>
struct MemberValue;
template <class T, class Struct>
struct MemberValue<T Struct::*> {
    using Type = T;
};

enum class FieldUse : std::uint8_t {
    optional,
    required,
    derived,  // follows from other fields: it has no key
};

// Names of a command line's flags; unused places are empty.
using FlagNames = std::array<std::string_view, 4>;

namespace field_detail {

template <const auto& kTable, auto kMember, std::size_t kAt = 0>
constexpr std::size_t position() {
    using Row = std::tuple_element_t<kAt, std::remove_cvref_t<decltype(kTable)>>;
    if constexpr (std::is_same_v<decltype(Row::member), decltype(kMember)>) {
        if constexpr (std::get<kAt>(kTable).member == kMember) {
            return kAt;
        } else {
            return position<kTable, kMember, kAt + 1>();
        }
    } else {
        return position<kTable, kMember, kAt + 1>();
    }
}

}  // namespace field_detail

// The row of a member, known at compile time.
template <const auto& kTable, auto kMember>
inline constexpr const auto& kRowOf = std::get<field_detail::position<kTable, kMember>()>(kTable);

}  // namespace orrery
