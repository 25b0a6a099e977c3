// SPDX-License-Identifier: Apache-2.0
// The description of a struct's fields: the name that users write, the allowed values, and the
// meaning. A struct has one table (models/plan/plan_fields.h). Code that reads, writes or lists its
// fields follows the table. A row is an aggregate of
//   name, member   the key, and the pointer to the member
//   values         its range or its words (FieldValues)
//   use            required, optional, derived
//   meaning        one sentence
// A struct's rows may have further members of their own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace orrery {

// One word of a choice. Several words may have the same value; messages list the first of them.
template <class T>
struct Choice {
    std::string_view word;
    T value;
};

template <class T>
using Choices = std::span<const Choice<T>>;

// The first word for `value`; empty if there is none.
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

// The allowed values of a field: a range for numbers and for the elements of a list, words for an
// enumeration. The words of a std::uint32_t name bits, and any set of them is a value.
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
    derived,  // computed from other fields: it has no key
};

// Names of the command line's flags; unused elements are empty.
using FlagNames = std::array<std::string_view, 4>;

// A table's rows, each with a type of its own. A std::tuple of a hundred rows costs the compiler a
// second in each file that includes it, because its bases nest. The bases of this table do not.
template <std::size_t kAt, class Row>
struct TableRow {
    Row row;
};

template <class Places, class... Rows>
struct TableRows;
template <std::size_t... kAt, class... Rows>
struct TableRows<std::index_sequence<kAt...>, Rows...> : TableRow<kAt, Rows>... {
    static constexpr std::size_t kSize = sizeof...(Rows);

    // Calls `visit(row)` for each row, in order.
    template <class Visit>
    constexpr void each(Visit&& visit) const {
        (visit(static_cast<const TableRow<kAt, Rows>&>(*this).row), ...);
    }
};

template <class... Rows>
struct FieldTable : TableRows<std::index_sequence_for<Rows...>, Rows...> {};
template <class... Rows>
FieldTable(Rows...) -> FieldTable<Rows...>;

// The rows of two tables, in order.
template <class... First, class... Second>
constexpr FieldTable<First..., Second...> joined(const FieldTable<First...>& first,
                                                 const FieldTable<Second...>& second) {
    return [&]<std::size_t... kOfFirst, std::size_t... kOfSecond>(
        std::index_sequence<kOfFirst...>, std::index_sequence<kOfSecond...>) {
        return FieldTable<First..., Second...>{
            static_cast<const TableRow<kOfFirst, First>&>(first).row...,
            static_cast<const TableRow<kOfSecond, Second>&>(second).row...};
    }
    (std::index_sequence_for<First...>(), std::index_sequence_for<Second...>());
}

namespace field_detail {

// The index of a member's row; the number of rows if there is none.
template <class Table, class Member>
constexpr std::size_t position(const Table& table, Member member) {
    std::size_t at = 0;
    std::size_t found = Table::kSize;
    table.each([&](const auto& row) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(row.member)>, Member>) {
            if (row.member == member) {
                found = at;
            }
        }
        ++at;
    });
    return found;
}

template <std::size_t kAt, class Row>
constexpr const Row& row_at(const TableRow<kAt, Row>& row) {
    return row.row;
}

}  // namespace field_detail

// The row of a member, known at compile time.
template <const auto& kTable, auto kMember>
inline constexpr const auto& kRowOf =
    field_detail::row_at<field_detail::position(kTable, kMember)>(kTable);

}  // namespace orrery
