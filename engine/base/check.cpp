// SPDX-License-Identifier: Apache-2.0
#include "engine/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace orrery {

void check_failed(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "orrery: internal error at %s:%d: %s does not hold\n", file, line,
                 condition);
    std::abort();
}

}  // namespace orrery
