// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/interruption.h"

#include <cstdio>

#include "engine/base/standard_error.h"

namespace orrery {

bool Interruption::come() {
    if (signals_ && signals_->pending() != 0) {
        come_ = true;
        signals_.reset();
        print_to_stderr("interrupted: the best so far follows; again to end at once\n");
    }
    return come_;
}

}  // namespace orrery
