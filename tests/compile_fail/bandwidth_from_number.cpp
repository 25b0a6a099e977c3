// SPDX-License-Identifier: Apache-2.0
// A bandwidth has a unit: bits or bytes, per second.
#include "engine/base/units.h"

namespace orrery {

using namespace literals;

#ifdef MUST_FAIL
Bandwidth bandwidth = 400;
#else
Bandwidth bandwidth = 400_Gbps;
#endif

}  // namespace orrery
