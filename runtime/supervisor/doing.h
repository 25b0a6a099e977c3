// SPDX-License-Identifier: Apache-2.0
// The current work of a rank in words: "all_reduce on dp (gradients of block 3)".
#pragma once

#include <string>

#include "runtime/executor.h"

namespace orrery {

// May be called from any thread; empty before the first op.
std::string doing(const Executor& executor);

}  // namespace orrery
