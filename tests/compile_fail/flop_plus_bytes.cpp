// SPDX-License-Identifier: Apache-2.0
// Work and traffic do not add.
#include "engine/base/units.h"

namespace orrery {

using namespace literals;

#ifdef MUST_FAIL
auto sum = Flop{1e9} + 1_GB;
#else
auto sum = Flop{1e9} / 1_TFLOPS + 1_GB / 50_GBps;
#endif

}  // namespace orrery
