// SPDX-License-Identifier: Apache-2.0
// Work does not cross a link.
#include "engine/base/units.h"

namespace orrery {

using namespace literals;

#ifdef MUST_FAIL
auto quotient = Flop{1e9} / 400_Gbps;
#else
auto quotient = Flop{1e9} / 1_TFLOPS;
#endif

}  // namespace orrery
