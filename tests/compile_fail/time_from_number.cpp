// SPDX-License-Identifier: Apache-2.0
// A time has a unit.
#include "engine/base/units.h"

namespace orrery {

using namespace literals;

#ifdef MUST_FAIL
Time latency = 3.0;
#else
Time latency = Time::seconds(3.0);
#endif

}  // namespace orrery
