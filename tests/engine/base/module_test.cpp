// SPDX-License-Identifier: Apache-2.0
#include "engine/base/module.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Module, ThatIsNotThereIsAnErrorWithItsFile) {
    const Result<Module> module = Module::open("orrery_of_nobody");
    ASSERT_FALSE(module);
    EXPECT_EQ(module.error().where, "liborrery_of_nobody.so");
    EXPECT_NE(module.error().what, "");
}

TEST(Module, FindsItsFunctionsByName) {
    const Result<Module> module = Module::open("orrery_test_module");
    ASSERT_TRUE(module) << module.error().to_string();
    int (*answer)() = nullptr;
    ASSERT_TRUE(module->find("orrery_test_answer", answer));
    EXPECT_EQ(answer(), 42);
    EXPECT_FALSE(module->find("orrery_test_question", answer));
}

}  // namespace
}  // namespace orrery
