// SPDX-License-Identifier: Apache-2.0
// An id does not become a number silently.
#include "engine/base/ids.h"

namespace orrery {

#ifdef MUST_FAIL
std::size_t position = RankId{3};
#else
std::size_t position = index(RankId{3});
#endif

}  // namespace orrery
