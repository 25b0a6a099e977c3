// SPDX-License-Identifier: Apache-2.0
// A rate of computing has a unit.
#include "engine/base/units.h"

namespace orrery {

using namespace literals;

#ifdef MUST_FAIL
FlopRate rate = 989e12;
#else
FlopRate rate = 989_TFLOPS;
#endif

}  // namespace orrery
