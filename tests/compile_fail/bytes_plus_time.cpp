// SPDX-License-Identifier: Apache-2.0
// Sizes and times do not add.
#include "engine/base/units.h"

namespace orrery {

using namespace literals;

#ifdef MUST_FAIL
auto sum = 1_B + 1_us;
#else
auto sum = 1_B / 400_Gbps + 1_us;
#endif

}  // namespace orrery
