// SPDX-License-Identifier: Apache-2.0
// Assertions for what only a programmer can cause. They stay on in release builds. What a user can
// cause is a value: see result.h.
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
