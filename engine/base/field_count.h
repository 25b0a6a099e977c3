// SPDX-License-Identifier: Apache-2.0
// How many members an aggregate has, so that a table with one row for each member refuses to
// compile once a member has no row.
#pragma once

#include <cstddef>
#include <utility>

namespace orrery {
namespace field_count_detail {

// Stands for an initialiser of any type.
struct AnyValue {
    template <class T>
    operator T() const noexcept;
};

template <class Aggregate, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
    return requires {
        Aggregate{(static_cast<void>(I), AnyValue{})...};
    };
}

}  // namespace field_count_detail

// Members of an aggregate of at most `kMost` members, none of which is itself initialised from a
// template (std::function, std::optional).
template <class Aggregate, std::size_t kMost = 100>
constexpr std::size_t field_count() {
    if constexpr (kMost == 0) {
        return 0;
    } else if constexpr (field_count_detail::takes<Aggregate>(std::make_index_sequence<kMost>{})) {
        return kMost;
    } else {
        return field_count<Aggregate, kMost - 1>();
    }
}

}  // namespace orrery
