// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/provenance/version.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Version, OfALibraryIsItsVersionAlone) {
    EXPECT_EQ(build_identity().version, kVersion);
    EXPECT_EQ(build_identity().short_name(), kVersion);
    EXPECT_EQ(build_identity().words(), kVersion);
}

TEST(Version, NamesCommitChangesAndSources) {
    BuildIdentity build{.version = "1.2.3",
                        .commit = "0011223344556677",
                        .changed = true,
                        .sources = "aabbccddeeff0011"};
    EXPECT_EQ(build.short_name(), "1.2.3+aabbccddeeff");
    EXPECT_EQ(build.words(), "1.2.3, commit 001122334455 with changes, sources aabbccddeeff");
    build.changed = false;
    build.commit = "";  // of a tarball
    EXPECT_EQ(build.words(), "1.2.3, sources aabbccddeeff");
}

}  // namespace
}  // namespace orrery
