// SPDX-License-Identifier: Apache-2.0
// Swapped arguments do not pass for each other.
#include "engine/base/units.h"

namespace orrery {

using namespace literals;

#ifdef MUST_FAIL
Time transfer_time(Bandwidth bandwidth, Bytes size) {
    return size / bandwidth;
}
Time time = transfer_time(25_MiB, 400_Gbps);
#else
Time transfer_time(Bandwidth bandwidth, Bytes size) {
    return size / bandwidth;
}
Time time = transfer_time(400_Gbps, 25_MiB);
#endif

}  // namespace orrery
