// SPDX-License-Identifier: Apache-2.0
// Errors that a user or the environment can cause, as values. An Error says where (file:line:column
// or an option), what is wrong, and what to do about it. Moving to std::expected changes this file
// only.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace orrery {

struct Error {
    std::string where;  // "scenario.yaml:12:5", "--set plan.precision", or empty
    std::string what;   // one sentence without a full stop
    std::string hint;   // what to do, or empty

    // "where: error: what (hint: hint)", without the parts that are empty.
    std::string to_string() const;
    bool operator==(const Error&) const = default;
};

using Errors = std::vector<Error>;

template <class T>
using Result = tl::expected<T, Error>;

// For what collects every error of an input before it gives up. Never holds an empty list.
template <class T>
using ResultOrErrors = tl::expected<T, Errors>;

using tl::unexpected;

inline tl::unexpected<Error> fail(std::string where, std::string what, std::string hint = {}) {
    return tl::unexpected<Error>(Error{std::move(where), std::move(what), std::move(hint)});
}

}  // namespace orrery
