// SPDX-License-Identifier: Apache-2.0
// Bytes are not computed.
#include "engine/base/units.h"

namespace orrery {

using namespace literals;

#ifdef MUST_FAIL
auto quotient = 1_MiB / 989_TFLOPS;
#else
auto quotient = Flop{1e9} / 989_TFLOPS;
#endif

}  // namespace orrery
