// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/published_servers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "kernels/csv_rows.h"
#include "scenarios/format/catalogue/catalogue.h"

namespace orrery {
namespace {

TEST(PublishedServers, AreEntriesOfTheCatalogue) {
    const std::filesystem::path root = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    const auto rows =
        read_csv((root / "published" / "servers.csv").string(), {"gpu", "node", "fabric"});
    ASSERT_TRUE(rows);
    const Catalogue catalogue{root};
    const std::vector<std::string> nodes = catalogue.names("nodes");
    const std::vector<std::string> fabrics = catalogue.names("fabrics");
    for (const CsvRow& row : *rows) {
        const auto server = server_of_gpu(row.fields[0], root);
        ASSERT_TRUE(server);
        EXPECT_TRUE(std::ranges::binary_search(nodes, server->node)) << server->node;
        EXPECT_TRUE(std::ranges::binary_search(fabrics, server->fabric)) << server->fabric;
    }
    EXPECT_EQ(server_of_gpu("h200-nvl", root)->node, "pcie-h200-nvl-8gpu");
}

TEST(PublishedServers, AnUnknownGpuIsToldTheNearest) {
    const auto server = server_of_gpu("a100-81g", ORRERY_SOURCE_DIR "/scenarios/catalogue");
    ASSERT_FALSE(server);
    EXPECT_NE(server.error().hint.find("a100-80g"), std::string::npos);
}

}  // namespace
}  // namespace orrery
