// SPDX-License-Identifier: Apache-2.0
#include "engine/faults/fault_kind.h"

#include <gtest/gtest.h>

#include <set>

namespace orrery {
namespace {

TEST(FaultKind, EveryKindHasANameOfItsOwnThatFindsIt) {
    std::set<std::string_view> names;
    for (const FaultKindInfo& kind : fault_kinds()) {
        EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
        EXPECT_EQ(fault_kind_of(kind.name), kind.kind);
        EXPECT_EQ(&info(kind.kind), &kind);
    }
    EXPECT_EQ(names.size(), kNumFaultKinds);
    EXPECT_FALSE(fault_kind_of("gremlin").has_value());
}

TEST(FaultKind, SharesAndFactorsAreSensible) {
    for (const FaultKindInfo& kind : fault_kinds()) {
        EXPECT_GE(kind.transient, 0) << kind.name;
        EXPECT_LE(kind.transient, 1) << kind.name;
        EXPECT_EQ(kind.slowdown > 1,
                  kind.effect == FaultEffect::slow || kind.effect == FaultEffect::busy)
            << kind.name;
        EXPECT_EQ(kind.symptom == Symptom::slowness, kind.effect == FaultEffect::slow) << kind.name;
    }
}

}  // namespace
}  // namespace orrery
