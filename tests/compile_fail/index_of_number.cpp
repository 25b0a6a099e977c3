// SPDX-License-Identifier: Apache-2.0
// Only ids have a position in a table.
#include "engine/base/ids.h"

namespace orrery {

#ifdef MUST_FAIL
auto position = index(3);
#else
auto position = index(GroupId{3});
#endif

}  // namespace orrery
