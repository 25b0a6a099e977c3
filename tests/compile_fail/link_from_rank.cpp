// SPDX-License-Identifier: Apache-2.0
// A rank is no link.
#include "engine/base/ids.h"

namespace orrery {

#ifdef MUST_FAIL
LinkId link = RankId{3};
#else
LinkId link = LinkId{3};
#endif

}  // namespace orrery
