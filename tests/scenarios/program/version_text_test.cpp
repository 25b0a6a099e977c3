// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/version_text.h"

#include <gtest/gtest.h>

#include "scenarios/format/provenance/version.h"

namespace orrery {
namespace {

TEST(VersionText, NamesTheBuildLineByLine) {
    const BuildIdentity before = build_identity();
    set_build_identity({.version = "9.9", .commit = "abc", .changed = true, .compiler = "gcc"});
    const std::string text = version_text();
    set_build_identity(before);
    EXPECT_EQ(text.find("orrery 9.9\ncommit    abc with changes\n"), 0u) << text;
    EXPECT_NE(text.find("\ncompiler  gcc"), std::string::npos) << text;
    EXPECT_NE(text.find("\ncatalogue "), std::string::npos) << text;
}

}  // namespace
}  // namespace orrery
