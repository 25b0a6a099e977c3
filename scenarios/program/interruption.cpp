// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/interruption.h"

#include <fmt/format.h>

#include <cstdio>

namespace orrery {

bool Interruption::come() {
    if (signals_ && signals_->pending() != 0) {
        come_ = true;
        signals_.reset();
        fmt::print(stderr, "interrupted: the best so far follows; again to end at once\n");
    }
    return come_;
}

}  // namespace orrery
