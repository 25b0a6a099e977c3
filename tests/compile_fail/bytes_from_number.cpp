// SPDX-License-Identifier: Apache-2.0
// A size has a unit.
#include "engine/base/units.h"

namespace orrery {

using namespace literals;

#ifdef MUST_FAIL
Bytes size = 4096;
#else
Bytes size = 4096_B;
#endif

}  // namespace orrery
