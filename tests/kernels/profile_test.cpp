// SPDX-License-Identifier: Apache-2.0
#include "kernels/profile.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "kernels/catalogue.h"

namespace orrery {
namespace profile_test {

const std::string kHeader = "device,kind,dtype,variant,d0,d1,d2,d3,d4,d5,time_us,spread,samples\n";

ResultOrErrors<Profile> read(const std::string& text) {
    std::istringstream stream(text);
    return read_profile(stream, "p.csv");
}

TEST(Profile, ReadsBackExactlyWhatItWrites) {
    std::mt19937 random(3);
    Profile profile;
    for (std::int64_t i = 1; i <= 100; ++i) {
        profile.push_back(
            {.device = "h100-80g",
             .call = i % 2 ? gemm(i, 2 * i, 3, 1, Dtype::bf16, GemmEpilogue::none, Dtype::bf16)
                           : adamw(i),
             .median = Time::picoseconds(1 + static_cast<std::int64_t>(random())),
             .spread = static_cast<double>(random()) * 1e-12,
             .samples = 1 + static_cast<std::int64_t>(random() % 100)});
    }
    const auto back = read(profile_csv(profile, "GPU-1234\ndriver 570"));
    ASSERT_TRUE(back) << back.error()[0].to_string();
    EXPECT_EQ(*back, profile);
}

TEST(Profile, NamesTheLineOfEveryMistake) {
    const std::string good = "d,gemm,bf16,8,1,2,3,1,0,0,5.0,0.01,10\n";
    ASSERT_TRUE(read(kHeader + good)) << read(kHeader + good).error()[0].to_string();
    const auto profile = read(kHeader + good +
                              "d,matmul,bf16,8,1,2,3,1,0,0,5.0,0.01,10\n"  // 3: kind
                              "d,gemm,half,8,1,2,3,1,0,0,5.0,0.01,10\n"    // 4: dtype
                              "d,gemm,bf16,8,1,2,3,1,0,0,0,0.01,10\n"      // 5: no time
                              "d,gemm,bf16,8,1,2,3,1,0,0,5.0,-1,10\n"      // 6: spread
                              "d,gemm,bf16,8,1,2,3,1,0,0,5.0,0.01,0\n"     // 7: samples
                              "d,gemm,bf16,8,1,0,3,1,0,0,5.0,0.01,10\n"    // 8: no dimension
                              "d,gemm,bf16,999,1,2,3,1,0,0,5.0,0.01,10\n"  // 9: variant
                              "d,gemm,bf16,8,1,2,3,1,0,0,nan,0.01,10\n"    // 10
                              "d,gemm,bf16,8,1,2,3,1,0,0,5.0,0.01,10\n");  // 11: again
    ASSERT_FALSE(profile);
    ASSERT_EQ(profile.error().size(), 9U);
    for (std::size_t i = 0; i < 9; ++i) {
        EXPECT_EQ(profile.error()[i].where, "p.csv:" + std::to_string(i + 3));
    }
}

TEST(Profile, SurvivesRandomDamage) {
    const std::string text = kHeader + "d,gemm,bf16,8,1,2,3,1,0,0,5.0,0.01,10\n" +
                             "d,adamw,bf16,0,7,0,0,0,0,0,5.0,0.01,10\n";
    std::mt19937 random(17);
    int rejected = 0;
    for (int i = 0; i < 2000; ++i) {
        std::string damaged = text;
        damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
        rejected += read(damaged) ? 0 : 1;
    }
    EXPECT_GT(rejected, 1000);
}

// Rows of all kinds, and files of before there was a column for the ranks.
TEST(Profile, HoldsTransfersAndTheHostBesideKernels) {
    const MachineProfile profile{
        .kernels =
            {{.device = "cpu-core", .call = adamw(64), .median = Time::seconds(1e-6), .ranks = 2}},
        .transfers = {{"cpu-core",
                       {.kind = TransferKind::send_recv,
                        .wire = Dtype::bf16,
                        .bytes = Bytes{4096},
                        .ranks = 2,
                        .median = Time::seconds(25e-6),
                        .spread = 0.25,
                        .samples = 7}}},
        .hosts = {{.device = "cpu-core", .median = Time::seconds(2e-6), .ranks = 2},
                  {.device = "cpu-core",
                   .whole_step = true,
                   .cleared = Bytes{1000},
                   .median = Time::seconds(9e-6)}}};
    std::istringstream text(profile_csv(profile, ""));
    const auto back = read_machine_profile(text, "p.csv");
    ASSERT_TRUE(back) << back.error()[0].to_string();
    EXPECT_EQ(*back, profile);
    EXPECT_EQ(read(profile_csv(profile, ""))->size(), 1U);  // the kernels alone
    const auto old = read(kHeader + "d,adamw,bf16,1,64,0,0,0,0,0,5.0,0.01,10\n");
    ASSERT_TRUE(old) << old.error()[0].to_string();
    EXPECT_EQ(old->front().ranks, 1U);
}

TEST(Profile, RowsOfOtherKindsAreCheckedToo) {
    std::string header = kHeader;
    header.insert(header.size() - 1, ",ranks");
    const auto error_of = [&](const std::string& row) {
        const auto profile = read(header + row + "\n");
        return profile ? std::string{} : profile.error()[0].to_string();
    };
    EXPECT_EQ(error_of("d,all_reduce,fp32,0,64,0,0,0,0,0,5.0,0,1,2"), "");
    EXPECT_NE(error_of("d,all_reduce,fp32,0,64,0,0,0,0,0,5.0,0,1,1").find("two ranks or more"),
              std::string::npos);
    EXPECT_NE(error_of("d,all_reduce,fp32,0,64,1,0,0,0,0,5.0,0,1,2").find("no such variant"),
              std::string::npos);
    EXPECT_NE(error_of("d,host_op,fp32,0,64,0,0,0,0,0,5.0,0,1,1").find("no such variant"),
              std::string::npos);
    EXPECT_EQ(error_of("d,host_step,fp32,0,64,0,0,0,0,0,5.0,0,1,1"), "");
    EXPECT_NE(error_of("d,host_step,fp32,0,64,0,0,0,0,0,5.0,0,1,0").find("ranks '0'"),
              std::string::npos);
    EXPECT_NE(error_of("d,no_such,fp32,0,64,0,0,0,0,0,5.0,0,1,1").find("'no_such'"),
              std::string::npos);
    EXPECT_NE(error_of("d,send_recv,fp32,0,64,0,0,0,0,0,5.0,0,1,2\n"
                       "d,send_recv,fp32,0,64,0,0,0,0,0,6.0,0,1,2")
                  .find("given before"),
              std::string::npos);
}

}  // namespace profile_test
}  // namespace orrery
