// SPDX-License-Identifier: Apache-2.0
// Errors that a user or the environment can cause, as values. An Error says where (file:line:column
// or an option), what is wrong, and what to do about it. Moving to std::expected changes this file
// only.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace orrery {

// The cause of an error, for code that branches on it. The text is for people.
enum class ErrorCause : std::uint8_t {
    other,
    another_rank,   // another rank failed and reported its reason; this rank is well
    lost_peer,      // no message came from or reached rank `peer`
    wrong_numbers,  // the training diverged or was corrupted
    empty_input,
};

struct Error {
    std::string where;  // "scenario.yaml:12:5", "--set plan.precision", or empty
    std::string what;   // one sentence without a full stop
    std::string hint;   // what to do, or empty
    ErrorCause cause = ErrorCause::other;
    std::int64_t peer = kNoPeer;  // with lost_peer: the suspected rank, if it is known

    static constexpr std::int64_t kNoPeer = -1;

    // "where: error: what (hint: hint)", without the parts that are empty.
    std::string to_string() const;
    bool operator==(const Error&) const = default;
};

using Errors = std::vector<Error>;

template <class T>
using Result = tl::expected<T, Error>;

// For code that collects all errors of an input before it stops. The list is never empty.
template <class T>
using ResultOrErrors = tl::expected<T, Errors>;

using tl::unexpected;

inline tl::unexpected<Error> fail(Error error) {
    return tl::unexpected<Error>(std::move(error));
}
inline tl::unexpected<Error> fail(std::string where, std::string what, std::string hint = {}) {
    return tl::unexpected<Error>(Error{std::move(where), std::move(what), std::move(hint)});
}

}  // namespace orrery
