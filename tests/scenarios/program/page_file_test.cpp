// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/page_file.h"

#include <gtest/gtest.h>

#include "tests/scenarios/test_folder.h"

namespace orrery {
namespace {

TEST(PageFile, IsOpenedBeforeAndWrittenAfter) {
    const TestFolder folder;
    EXPECT_FALSE(PageFile::open("")->wanted());
    EXPECT_FALSE(PageFile::open((folder / "no/page.html").string()));
    auto page = PageFile::open((folder / "page.html").string());
    ASSERT_TRUE(page);
    EXPECT_TRUE(page->wanted());
    EXPECT_TRUE(page->write("<p><!-- provenance --></p>", provenance_of("search")));
    const std::string text = folder.text("page.html");
    EXPECT_TRUE(text.starts_with("<p><details")) << text;
    EXPECT_TRUE(text.ends_with("</details></p>")) << text;
}

}  // namespace
}  // namespace orrery
