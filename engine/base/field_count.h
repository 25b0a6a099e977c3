// SPDX-License-Identifier: Apache-2.0
// The number of members of an aggregate. A table with one row a member compares its length with it,
// so that a member without a row does not compile.
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

// The number of members, at most `kMost`. No member may have a constructor template that takes any
// type (std::function, std::optional).
template <class Aggregate, std::size_t kMost = 200>
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
