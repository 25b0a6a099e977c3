// SPDX-License-Identifier: Apache-2.0
// Assertions for errors of programmers. They stay on in release builds. Errors that a user can
// cause are values: see result.h.
#pragma once

namespace orrery {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace orrery

#define ORRERY_CHECK(condition)                                        \
    do {                                                               \
        if (!(condition)) [[unlikely]] {                               \
            ::orrery::check_failed(#condition, __FILE__, __LINE__);    \
        }                                                              \
    } while (false)
