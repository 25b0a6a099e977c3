// SPDX-License-Identifier: Apache-2.0
// A time divided by a bandwidth means nothing.
#include "engine/base/units.h"

namespace orrery {

using namespace literals;

#ifdef MUST_FAIL
auto quotient = 1_us / 400_Gbps;
#else
auto quotient = 1_MiB / 400_Gbps;
#endif

}  // namespace orrery
