// SPDX-License-Identifier: Apache-2.0
// Ranks are not counted on: their coordinates are (engine/program/mesh.h).
#include "engine/base/ids.h"

namespace orrery {

#ifdef MUST_FAIL
auto next = RankId{3} + 1;
#else
auto next = to_id<RankId>(index(RankId{3}) + 1);
#endif

}  // namespace orrery
