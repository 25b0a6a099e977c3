// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/nccl_library.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

// Version, unique ids and error texts need no driver.
TEST(NcclLibrary, LoadsWithoutADriverOrSaysWhyNot) {
    const auto library = open_nccl();
    if (!library) {
        EXPECT_NE(library.error().what.find("NCCL"), std::string::npos);
        EXPECT_FALSE(library.error().hint.empty());
        return;
    }
    EXPECT_EQ((*library)->version().substr(0, 2), "2.");
    NcclUniqueId first{};
    NcclUniqueId second{};
    ASSERT_EQ((*library)->unique_id(first), kNcclSuccess);
    ASSERT_EQ((*library)->unique_id(second), kNcclSuccess);
    EXPECT_NE(first, second);
    EXPECT_NE(first, NcclUniqueId{});
    EXPECT_NE((*library)->error_text(kNcclRemoteError, nullptr), "");
}

}  // namespace
}  // namespace orrery
