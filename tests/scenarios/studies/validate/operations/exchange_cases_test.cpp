// SPDX-License-Identifier: Apache-2.0
// The published exchanges are met as well as they are known to be, with one table of dispatchers.
#include "scenarios/studies/validate/operations/exchange_cases.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/test_folder.h"

namespace orrery {
namespace {

const std::filesystem::path kExchangeCatalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";

TEST(ExchangeCases, PublishedTableIsMet) {
    const std::string file = (kExchangeCatalogue / "published/collectives_a2a.csv").string();
    EXPECT_TRUE(is_exchange_table(file));
    const auto cases = read_exchange_cases(file);
    ASSERT_TRUE(cases) << cases.error().front().to_string();
    EXPECT_EQ(cases->size(), 135U);
    const auto validation = validate_exchanges(*cases, kExchangeCatalogue);
    ASSERT_TRUE(validation);
    EXPECT_EQ(validation->rows.size(), 135U);
    EXPECT_TRUE(validation->skipped.empty());
    EXPECT_LE(validation->balanced_median, 0.12);
    std::map<std::string, double> median;
    for (const TimedFamily& family : validation->families) {
        median[family.name] = family.median;
    }
    EXPECT_LE(median.at("hybridep-nvl"), 0.08);
    EXPECT_LE(median.at("nccl-alltoall"), 0.12);
    EXPECT_LE(median.at("deepep-normal"), 0.20);
}

// A dispatch by more SMs is never slower, and a kernel alone never slower than one in a framework.
TEST(ExchangeCases, MoreSmsAreNeverSlower) {
    const auto cases =
        read_exchange_cases((kExchangeCatalogue / "published/collectives_a2a.csv").string());
    ASSERT_TRUE(cases);
    ExchangeCase row = cases->at(13);
    ASSERT_EQ(row.implementation, "hybridep");
    double before = 1e9;
    for (const std::uint32_t sms : {4u, 8u, 16u, 32u}) {
        row.sms = sms;
        row.kernel_only = true;
        const auto kernel = validate_exchanges({row}, kExchangeCatalogue);
        row.kernel_only = false;
        const auto whole = validate_exchanges({row}, kExchangeCatalogue);
        ASSERT_TRUE(kernel && whole);
        EXPECT_LE(kernel->rows[0].predicted_us, before);
        EXPECT_GT(whole->rows[0].predicted_us, kernel->rows[0].predicted_us);
        before = kernel->rows[0].predicted_us;
    }
}

TEST(ExchangeCases, TimesFollowFromFourKindsOfBandwidth) {
    ExchangeCase row{.num_gpus = 16,
                     .num_nodes = 2,
                     .tokens = 4096,
                     .hidden_size = 7168,
                     .topk = 8,
                     .num_experts = 256,
                     .server_limit = 2,
                     .fp8 = true,
                     .bandwidth = 43,
                     .bandwidth_kind = "rdma-logical"};
    EXPECT_EQ(row_bytes(row), 7392);
    EXPECT_NEAR(*measured_us(row), 1403, 1);  // as the table's own column
    row.bandwidth_kind = "algorithm";
    const double all = *measured_us(row);
    row.bandwidth_kind = "nvlink";
    EXPECT_NEAR(*measured_us(row) / all, 15.0 / 16, 1e-12);
    row.bandwidth_kind = "guess";
    EXPECT_FALSE(measured_us(row));
    row.time_us = 5;
    EXPECT_EQ(*measured_us(row), 5);
}

TEST(ExchangeCases, MistakesHavePlaces) {
    const TestFolder folder;
    const std::string header =
        "case,family,collective,implementation,gpu,num_gpus,num_nodes,fabric,nic_gbps_per_gpu,"
        "tokens_per_gpu,hidden_size,moe_router_topk,num_experts,router,dtype,sms,bandwidth_GBps,"
        "bandwidth_kind,time_us,source,notes\n";
    const auto bad = read_exchange_cases(folder.write(
        "bad.csv",
        header + "a,f,ep_dispatch,deepep,b200,8,3,nvlink5,,4096,7168,8,64,uniform,bf16,24,500,"
                 "algorithm,,s,n\n"
                 "b,f,ep_dispatch,deepep,b200,8,1,nvlink5,,x,7168,8,64,uniform,bf16,24,,,,s,n\n"));
    ASSERT_FALSE(bad);
    EXPECT_GE(bad.error().size(), 3u);
    EXPECT_NE(bad.error()[0].where.find("bad.csv:2"), std::string::npos);
    const auto unknown = read_exchange_cases(folder.write(
        "unknown.csv",
        header + "a,f,ep_dispatch,pigeon,b200,8,1,nvlink5,,4096,7168,8,64,uniform,bf16,24,500,"
                 "algorithm,,s,n\n"
                 "b,f,ep_dispatch,deepep,abacus,8,1,nvlink5,,4096,7168,8,64,uniform,bf16,24,500,"
                 "algorithm,,s,n\n"));
    ASSERT_TRUE(unknown);
    const auto validation = validate_exchanges(*unknown, kExchangeCatalogue);
    ASSERT_TRUE(validation);
    ASSERT_EQ(validation->skipped.size(), 2u);
    EXPECT_EQ(validation->skipped[0].reason, "no dispatcher is 'pigeon'");
    EXPECT_EQ(validation->skipped[1].reason,
              "published/servers.csv of the catalogue has no gpu 'abacus'");
}

}  // namespace
}  // namespace orrery
