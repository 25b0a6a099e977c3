// SPDX-License-Identifier: Apache-2.0
// Sizes and times do not compare.
#include "engine/base/units.h"

namespace orrery {

using namespace literals;

#ifdef MUST_FAIL
bool less = 1_B < 1_us;
#else
bool less = 1_B / 400_Gbps < 1_us;
#endif

}  // namespace orrery
