// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "engine/execution.h"
#include "engine/verifier.h"

namespace orrery {

Error Execution::describe_deadlock() const {
    return Error{.where = {}, .what = "deadlock", .hint = {}};
}

}  // namespace orrery
