// SPDX-License-Identifier: Apache-2.0
// A module with one function, for module_test.cpp.
#include "engine/base/module.h"

ORRERY_MODULE_FUNCTION int orrery_test_answer() {
    return 42;
}
