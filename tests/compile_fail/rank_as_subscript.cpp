// SPDX-License-Identifier: Apache-2.0
// A table is read at index(id), never at an id.
#include <array>

#include "engine/base/ids.h"

namespace orrery {

constexpr std::array<int, 4> kTable{};

#ifdef MUST_FAIL
constexpr int kEntry = kTable[RankId{3}];
#else
constexpr int kEntry = kTable[index(RankId{3})];
#endif

static_assert(kEntry == 0);

}  // namespace orrery
