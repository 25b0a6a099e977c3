// SPDX-License-Identifier: Apache-2.0
// An id is not a number.
#include "engine/base/ids.h"

namespace orrery {

#ifdef MUST_FAIL
RankId rank = 3;
#else
RankId rank = to_id<RankId>(3);
#endif

}  // namespace orrery
