// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/replay/chakra_reader.h"

#include <gtest/gtest.h>

#include <random>

#include "scenarios/report/trace/perfetto_messages.h"
#include "scenarios/studies/replay/chakra_schema.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

using perfetto::Message;

std::string with_length(const Message& message) {
    return static_cast<char>(message.data().size()) + message.data();
}

Message attribute(std::string_view name, std::uint32_t field, std::uint64_t value) {
    Message message;
    return message.bytes(chakra::kAttributeName, name).number(field, value);
}

std::string metadata() {
    Message message;
    return with_length(message.bytes(chakra::kMetadataVersion, "0.0.4"));
}

std::string compute(std::uint64_t id, std::uint64_t us) {
    Message node;
    node.number(chakra::kId, id)
        .bytes(chakra::kName, "gemm")
        .number(chakra::kType, chakra::kCompute)
        .number(chakra::kDurationMicros, us);
    return with_length(node);
}

std::string all_reduce(std::uint64_t id, std::uint64_t type, std::uint64_t bytes) {
    Message node;
    // Dependencies packed, as protobuf 3 writes them.
    node.number(chakra::kId, id)
        .number(chakra::kType, chakra::kCollective)
        .bytes(chakra::kDataDeps, std::string{"\x01\x02", 2})
        .number(chakra::kCtrlDeps, 1)
        .message(chakra::kAttribute, attribute("comm_type", chakra::kInt64, type))
        .message(chakra::kAttribute, attribute("comm_size", chakra::kUint64, bytes));
    return with_length(node);
}

TEST(ChakraReader, ReadsNodesWithTheirAttributes) {
    const auto ops = parse_chakra(
        metadata() + compute(1, 7) + compute(2, 8) + all_reduce(3, 7, 1 << 20), "t.0.et");
    ASSERT_TRUE(ops) << ops.error().front().to_string();
    ASSERT_EQ(ops->size(), 3u);
    EXPECT_EQ((*ops)[0].duration, Time::seconds(7e-6));
    EXPECT_EQ((*ops)[2].kind, ForeignOp::Kind::collective);
    EXPECT_EQ((*ops)[2].collective, CollectiveKind::reduce_scatter);
    EXPECT_EQ((*ops)[2].bytes, Bytes{1 << 20});
    EXPECT_EQ((*ops)[2].after, (std::vector<std::uint64_t>{1, 2}));
}

TEST(ChakraReader, MistakesNameFileNodeAndField) {
    const auto bad =
        parse_chakra(metadata() + compute(1, 1'000'000'000'000) + all_reduce(5, 3, 1), "t.0.et");
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error()[0].to_string(),
              "t.0.et, node 1: error: duration_micros: longer than a day");
    EXPECT_EQ(bad.error()[1].to_string(),
              "t.0.et, node 5: error: comm_type: the collective 3 can't be replayed");
    Message node;
    node.number(chakra::kId, 9).number(chakra::kType, chakra::kSend);
    const auto lacking = parse_chakra(metadata() + with_length(node), "t.0.et");
    ASSERT_FALSE(lacking);
    EXPECT_EQ(lacking.error()[0].what, "has no attribute comm_size");
    EXPECT_EQ(lacking.error()[1].what, "has no attribute comm_dst");
}

TEST(ChakraReader, ACutFileIsAnErrorWhereverItIsCut) {
    const std::string whole = metadata() + compute(1, 7) + all_reduce(3, 0, 4096);
    const std::size_t first = metadata().size();
    const std::size_t second = first + compute(1, 7).size();
    for (std::size_t size = first + 1; size < whole.size(); ++size) {
        EXPECT_EQ(parse_chakra(whole.substr(0, size), "t.0.et").has_value(), size == second)
            << size;
    }
}

TEST(ChakraReader, RandomBytesNeverCrash) {
    std::mt19937 random{1};
    const std::string good = metadata() + compute(1, 7) + all_reduce(3, 0, 4096);
    for (int round = 0; round < 20'000; ++round) {
        std::string bytes = good;
        for (int change = 0; change < 3; ++change) {
            bytes[random() % bytes.size()] = static_cast<char>(random());
        }
        (void)parse_chakra(bytes, "t.0.et");
    }
}

TEST(ChakraReader, ReadsAFolderWithItsGroups) {
    const TestFolder folder;
    folder.write("job.0.et", metadata() + compute(1, 7));
    folder.write("job.1.et", metadata() + compute(1, 8));
    folder.write("comm_groups.json", R"({"0": [1, 0]})");
    const auto step = read_chakra(folder.path());
    ASSERT_TRUE(step) << step.error().front().to_string();
    EXPECT_EQ(step->ranks.size(), 2u);
    EXPECT_EQ(step->groups.at("0"), (std::vector{RankId{0}, RankId{1}}));
    EXPECT_TRUE(read_chakra(folder / "job.0.et"));
    folder.write("comm_groups.json", R"({"0": [0, 7]})");
    const auto bad = read_chakra(folder.path());
    ASSERT_FALSE(bad);
    EXPECT_NE(bad.error()[0].to_string().find("comm_groups.json:1:"), std::string::npos);
    EXPECT_FALSE(read_chakra(folder / "none"));
}

}  // namespace
}  // namespace orrery
