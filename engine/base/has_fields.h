// SPDX-License-Identifier: Apache-2.0
// Whether an aggregate has a number of members. A table with one row a member asks it for its own
// length, so that a member without a row does not compile.
#pragma once

#include <cstddef>
#include <utility>

namespace orrery {
namespace has_fields_detail {

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

}  // namespace has_fields_detail

// Whether an aggregate has `kCount` members. No member may have a constructor template that takes
// any type (std::function, std::optional).
template <class Aggregate, std::size_t kCount>
constexpr bool has_fields() {
    return has_fields_detail::takes<Aggregate>(std::make_index_sequence<kCount>{}) &&
           !has_fields_detail::takes<Aggregate>(std::make_index_sequence<kCount + 1>{});
}

}  // namespace orrery
