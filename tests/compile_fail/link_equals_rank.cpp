// SPDX-License-Identifier: Apache-2.0
// Ids of different tables do not compare.
#include "engine/base/ids.h"

namespace orrery {

#ifdef MUST_FAIL
bool same = LinkId{3} == RankId{3};
#else
bool same = index(LinkId{3}) == index(RankId{3});
#endif

}  // namespace orrery
