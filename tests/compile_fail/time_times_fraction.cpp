// SPDX-License-Identifier: Apache-2.0
// A fraction of a time is not exact: say how it is rounded.
#include "engine/base/units.h"

namespace orrery {

using namespace literals;

#ifdef MUST_FAIL
auto half = 3_us * 0.5;
#else
auto half = Time::seconds((3_us).seconds() * 0.5);
#endif

}  // namespace orrery
