// SPDX-License-Identifier: Apache-2.0
// A time does not lose its unit silently.
#include "engine/base/units.h"

namespace orrery {

using namespace literals;

#ifdef MUST_FAIL
double number = 3_us;
#else
double number = (3_us).seconds();
#endif

}  // namespace orrery
