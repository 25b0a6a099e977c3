// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/scenarios/sections.h"

namespace orrery {
namespace read_nccl_choices_test {

struct ChoicesRead {
    NcclChoiceTable table;
    std::string errors;
};

// `fabric`: its keys as YAML.
ChoicesRead read(const std::string& fabric) {
    DocumentNode section = section_of("nodes: 4\nnode: dgx-h100\nfabric: {" + fabric + "}\n");
    ClusterSpec cluster;
    DeviceSpec device;
    Errors errors;
    read_cluster(section, shipped_catalogue(), {}, cluster, device, errors);
    return {cluster.fabric.nccl_choices, lines_of(errors)};
}

ChoicesRead read_rows(const std::string& rows) {
    return read("base: ndr400-rail, nccl_choices: \"" +
                std::string("collective,ranks_per_node,ranks,bytes,algorithm,protocol\\n") + rows +
                "\"");
}

TEST(ReadNcclChoices, ARowIsAChoiceOrNccls) {
    const ChoicesRead r =
        read_rows("all_reduce,8,16,1048576,tree,LL128\\nreduce_scatter,1,4,0,,\\n");
    ASSERT_EQ(r.errors, "");
    const NcclChoiceTable expected{
        {.function = NcclFunction::all_reduce,
         .ranks_per_node = 8,
         .ranks = 16,
         .bytes = 1'048'576,
         .choice = NcclCombination{NcclAlgorithm::tree, NcclProtocol::ll128}},
        {.function = NcclFunction::reduce_scatter, .ranks_per_node = 1, .ranks = 4, .bytes = 0}};
    EXPECT_EQ(r.table, expected);
}

TEST(ReadNcclChoices, ErrorsNameTheRowAndWhatThereIs) {
    const auto find = [](const std::string& rows, const std::string& text) {
        const std::string errors = read_rows(rows).errors;
        EXPECT_NE(errors.find(text), std::string::npos) << errors;
    };
    find("all_to_all,8,16,0,ring,LL\\n", "there is no collective 'all_to_all'");
    find("all_to_all,8,16,0,ring,LL\\n", "all_reduce, all_gather, reduce_scatter");
    find("all_reduce,8,16,0,star,LL\\n", "there is no algorithm 'star'");
    find("all_reduce,8,16,0,ring,\\n", "there is no protocol ''");
    find("all_reduce,0,16,0,ring,LL\\n", "ranks_per_node must be an integer, not '0'");
    find("all_reduce,8,1,0,ring,LL\\n", "ranks must be an integer, not '1'");
    find("all_reduce,8,16,1 MB,ring,LL\\n", "bytes must be an integer, not '1 MB'");
}

TEST(ReadNcclChoices, EfaHasThoseOfItsPlugin) {
    const ChoicesRead r = read("base: efa-400");
    ASSERT_EQ(r.errors, "");
    EXPECT_EQ(choice_of_table(r.table, NcclFunction::all_reduce, 16, 128, 256 << 20),
              (NcclCombination{NcclAlgorithm::tree, NcclProtocol::ll128}));
    EXPECT_FALSE(choice_of_table(r.table, NcclFunction::all_gather, 16, 128, 256 << 20));
}

TEST(ReadNcclChoices, EagerMessagesNeedAReportedLatency) {
    EXPECT_EQ(read("base: ndr400-rail, reported_latency: 75 us, eager_size: 8 KiB").errors, "");
    const std::string errors = read("base: ndr400-rail, eager_size: 8 KiB").errors;
    EXPECT_NE(errors.find("eager_size spares a reported latency"), std::string::npos) << errors;
    EXPECT_NE(read("base: ndr400-rail, nvls_tree_chunk: 2 MiB").errors, "");
}

}  // namespace read_nccl_choices_test
}  // namespace orrery
