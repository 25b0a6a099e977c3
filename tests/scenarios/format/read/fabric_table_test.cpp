// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/fabric_table.h"

#include <gtest/gtest.h>

#include "tests/scenarios/sections.h"
#include "tests/test_folder.h"

namespace orrery {
namespace fabric_table_test {

std::optional<FabricTable> open(const std::string& value,
                                const std::filesystem::path& folder,
                                Errors& errors) {
    DocumentNode file;
    file.kind = DocumentNode::Kind::scalar;
    file.text = value;
    return open_fabric_table(file, folder, "cluster.fabric.x", {"a", "b", "c=7"}, errors);
}

TEST(FabricTable, IsAFileOrItsText) {
    const TestFolder folder;
    folder.write("t.csv", "a,b\n1,2\n");
    for (const char* value : {"t.csv", "a,b\n1,2\n"}) {
        Errors errors;
        const auto table = open(value, folder.path(), errors);
        ASSERT_TRUE(table) << lines_of(errors);
        ASSERT_EQ(table->rows.size(), 1U);
        EXPECT_EQ(table->rows[0].fields, (std::vector<std::string>{"1", "2", "7"}));
    }
}

TEST(FabricTable, ErrorsNameTheKeyOrTheFile) {
    const auto errors_of = [](const std::string& value) {
        const TestFolder folder;
        Errors errors;
        EXPECT_FALSE(open(value, folder.path(), errors));
        return lines_of(errors);
    };
    EXPECT_NE(errors_of("").find("cluster.fabric.x must be a file's name (hint: a table with the "
                                 "columns a, b)"),
              std::string::npos)
        << errors_of("");
    EXPECT_NE(errors_of("none.csv").find("none.csv"), std::string::npos);
    EXPECT_NE(errors_of("a\n1\n").find("cluster.fabric.x"), std::string::npos);
}

}  // namespace fabric_table_test
}  // namespace orrery
