// SPDX-License-Identifier: Apache-2.0
// How many fields an aggregate has, counted by the compiler: the most values that braces take.
// (J. Turner's and A. Polukhin's trick, see Boost.PFR.)
#pragma once

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

namespace orrery {

namespace fields {

// Stands for a value of any type.
struct Any {
    template <class T>
    operator T() const noexcept;
};

template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
    return requires { T{(static_cast<void>(I), Any{})...}; };
}

}  // namespace fields

// Of a struct without base classes whose fields are no C arrays.
template <class T, std::size_t kMost = 80>
constexpr std::size_t num_fields() {
    static_assert(std::is_aggregate_v<T>);
    std::size_t most = 0;
    [&]<std::size_t... N>(std::index_sequence<N...>) {
        ((most = fields::takes<T>(std::make_index_sequence<N>{}) ? N : most), ...);
    }(std::make_index_sequence<kMost>{});
    return most;
}

}  // namespace orrery
