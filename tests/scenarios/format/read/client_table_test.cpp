// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/client_table.h"

#include <gtest/gtest.h>

#include "tests/test_folder.h"

namespace orrery {
namespace {

const std::string kClientHead =
    "workload,client,rate_per_s,gap_cv,input_p50,input_p90,input_p99,output_p50,output_p90,"
    "output_p99\n";

TEST(ClientTable, ClientsOfAWorkloadAreRead) {
    const TestFolder folder;
    const auto file = folder.write(
        "c.csv", kClientHead + "chat,0,2.5,1.5,100,400,900,50,200,500\ncode,0,1,1,9,9,9,1,2,3\n");
    const auto chat = read_client_table(file, "chat");
    ASSERT_TRUE(chat) << chat.error().front().to_string();
    ASSERT_EQ(chat->size(), 1U);
    EXPECT_DOUBLE_EQ(chat->front().rate, 2.5);
    EXPECT_DOUBLE_EQ(chat->front().gap_variation, 1.5);
    const LengthTable& lengths = chat->front().lengths;
    EXPECT_DOUBLE_EQ(length_at(lengths, lengths.input_tokens, 0.7), 250);
    EXPECT_DOUBLE_EQ(length_at(lengths, lengths.output_tokens, 0.999), 500);
    EXPECT_EQ(read_client_table(file, "")->size(), 2U);
    EXPECT_NE(read_client_table(file, "poetry").error().front().to_string().find("poetry"),
              std::string::npos);
}

TEST(ClientTable, MistakesHaveAPlace) {
    const TestFolder folder;
    for (const char* wrong : {"chat,0,0,1.5,100,400,900,50,200,500\n",
                              "chat,0,1,1.5,500,400,900,50,200,500\n",
                              "chat,0,1,x,100,400,900,50,200,500\n",
                              "chat,0,1\n"}) {
        const auto read = read_client_table(folder.write("c.csv", kClientHead + wrong), "");
        ASSERT_FALSE(read) << wrong;
        EXPECT_NE(read.error().front().to_string().find("c.csv:2"), std::string::npos);
    }
}

}  // namespace
}  // namespace orrery
