// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/shared_library.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(SharedLibrary, FindsFunctionsAndRemembersThoseThatItHasNot) {
    auto library = SharedLibrary::open({"no-such-library.so.7", "libm.so.6"});
    ASSERT_TRUE(library) << library.error().to_string();
    double (*root)(double) = nullptr;
    ASSERT_TRUE(library->find("sqrt", root));
    EXPECT_EQ(root(9.0), 3.0);
    double (*none)(double) = nullptr;
    EXPECT_FALSE(library->find("no_such_function", none));
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(library->missing(), std::vector<std::string>{"no_such_function"});
}

TEST(SharedLibrary, WhatIsNotThereIsAnErrorThatNamesIt) {
    const auto library = SharedLibrary::open({"no-such-library.so.7", "/no/such/folder/it.so"});
    ASSERT_FALSE(library);
    EXPECT_NE(library.error().what.find("no-such-library.so.7"), std::string::npos);
    EXPECT_NE(library.error().what.find("/no/such/folder/it.so"), std::string::npos);
    EXPECT_FALSE(SharedLibrary::open({}));
}

}  // namespace
}  // namespace orrery
